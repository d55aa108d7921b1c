// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/process_of_spool.h"

#include "base/text_files.h"

#include <cstdlib>
#include <string>

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

} // namespace

SpoolProcess process_of_spool(std::uint32_t number, const fs::path& spool) {
  const fs::path proc = "/proc";
  const std::string wanted = std::to_string(number);
  SpoolProcess process{ProcessState::gone, 0};
  std::error_code trouble;
  for (fs::directory_iterator at(proc, trouble), end; !trouble && at != end;
       at.increment(trouble)) {
    if (own_number(at->path()) != wanted)
      continue;
    if (has_open(at->path(), spool))
      return {ProcessState::alive, std::atoll(at->path().filename().c_str())};
    std::error_code hidden;
    const fs::directory_iterator readable(at->path() / "fd", hidden);
    if (hidden) // another user's
      process.state = ProcessState::unknown;
  }
  return process;
}

} // namespace ncclprobe::cli
