// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/captured_job.h"

#include "trace/spool_reader.h"

#include "analysis/hang/captured_calls.h"
#include "base/clock.h"
#include "base/text_files.h"
#include "launch/cli/files/recorded_spools.h"
#include "launch/cli/hang/file_troubles.h"
#include "launch/cli/hang/process_of_spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::hang::ProcessState;

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
  FileTroubles troubles;
  bool any_read = false;
  struct Spool {
    fs::path path;
    trace::SpoolHeader header;
  };
  std::vector<Spool> known;
  for (const fs::path& path : paths) {
    if (auto header = trace::read_spool_header(path))
      known.push_back({path, *header});
    else
      troubles.add(header.error());
  }
  // A process may have several, which follow each other.
  std::ranges::stable_sort(known, {}, [](const Spool& spool) { return spool.header.realtime_ns; });
  for (const auto& [path, header] : known) {
    analysis::hang::SpoolOrigin origin{.host = letters_of(header.host),
                                       .boot = letters_of(header.boot_id),
                                       .process = header.process,
                                       .started_ns = header.realtime_ns};
    // Whether the process lives is looked at first: what it writes meanwhile is read.
    if (!origin.boot.empty() && origin.boot == boot) {
      const SpoolProcess process = process_of_spool(header.process, path);
      origin.state = process.state;
      origin.here = process.here;
    }
    if (origin.state == ProcessState::alive)
      origin.now_ns = base::monotonic_ns();
    calls.begin_file(std::move(origin));
    if (auto read =
            trace::read_spool(path, [&](const trace::SpoolBlock& block) { calls.add(block); }))
      any_read = true;
    else
      troubles.add(read.error());
  }
  return std::move(troubles).job_of(calls, any_read);
}

} // namespace ncclprobe::cli
