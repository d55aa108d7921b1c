// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/captured_job.h"

#include "trace/spool_reader.h"

#include "analysis/hang/captured_calls.h"
#include "base/clock.h"
#include "base/text_files.h"
#include "launch/cli/files/recorded_spools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::hang::ProcessState;

bool has_open(const fs::path& process, const fs::path& file) {
  std::error_code trouble;
  for (fs::directory_iterator at(process / "fd", trouble), end; !trouble && at != end;
       at.increment(trouble)) {
    std::error_code hidden;
    if (fs::equivalent(at->path(), file, hidden))
      return true;
  }
  return false;
}

// The number that a process has in its own container.
std::string own_number(const fs::path& process) {
  for (const std::string& line : base::lines_of(process / "status"))
    if (line.starts_with("NSpid:"))
      return base::words_of(line).back();
  return "";
}

// The process of a spool has the number that is written there, in its container, and the file open.
// A number alone may be another process's, and a forked child has the file open too.
ProcessState state_of(std::uint32_t number, const fs::path& spool) {
  const fs::path proc = "/proc";
  const std::string wanted = std::to_string(number);
  ProcessState state = ProcessState::gone;
  std::error_code trouble;
  for (fs::directory_iterator at(proc, trouble), end; !trouble && at != end;
       at.increment(trouble)) {
    if (own_number(at->path()) != wanted)
      continue;
    if (has_open(at->path(), spool))
      return ProcessState::alive;
    std::error_code hidden;
    const fs::directory_iterator readable(at->path() / "fd", hidden);
    if (hidden) // another user's
      state = ProcessState::unknown;
  }
  return state;
}

template <std::size_t Size>
std::string letters_of(const std::array<char, Size>& letters) {
  return {letters.begin(), std::ranges::find(letters, '\0')};
}

} // namespace

Result<analysis::hang::Job> read_captured_job(const fs::path& folder) {
  NCCLPROBE_TRY_ASSIGN(const std::vector<fs::path> paths, spools_in(folder));
  if (paths.empty())
    return fail({Errc::not_found, fmt::format("{} holds no spools", folder.string()),
                 "give the folder of a recording (ncclprobe record)"});
  const std::string boot = base::text_of("/proc/sys/kernel/random/boot_id");
  analysis::hang::CapturedCalls calls;
  std::vector<std::string> remarks;
  Error trouble;
  std::size_t readable = 0;
  struct Spool {
    fs::path path;
    trace::SpoolHeader header;
  };
  std::vector<Spool> known;
  for (const fs::path& path : paths) {
    if (auto header = trace::read_spool_header(path))
      known.push_back({path, *header});
    else
      remarks.push_back((trouble = header.error()).text());
  }
  // A process may have several, which follow each other.
  std::ranges::stable_sort(known, {}, [](const Spool& spool) { return spool.header.realtime_ns; });
  for (const auto& [path, header] : known) {
    analysis::hang::SpoolOrigin origin{letters_of(header.host), letters_of(header.boot_id),
                                       header.process,          header.realtime_ns,
                                       ProcessState::unknown,   0};
    // Whether the process lives is looked at first: what it writes meanwhile is read.
    if (!origin.boot.empty() && origin.boot == boot)
      origin.state = state_of(header.process, path);
    if (origin.state == ProcessState::alive)
      origin.now_ns = base::monotonic_ns();
    calls.begin_file(std::move(origin));
    if (auto read =
            trace::read_spool(path, [&](const trace::SpoolBlock& block) { calls.add(block); }))
      ++readable;
    else
      remarks.push_back((trouble = read.error()).text());
  }
  if (readable == 0)
    return fail(std::move(trouble));
  analysis::hang::Job job = calls.take();
  std::ranges::move(remarks, std::back_inserter(job.remarks));
  return job;
}

} // namespace ncclprobe::cli
