// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"
#include "launch/cli/record/capture_folder.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct RecordOptions {
  std::filesystem::path folder = "job";
  std::optional<std::string> level;                  // absent: as level_of()
  std::optional<std::int64_t> for_ns;                // stop after this time
  std::optional<std::int64_t> last_ns;               // keep this last time only
  std::uint64_t most_bytes = std::uint64_t{2} << 30; // of each process
  bool cuda = false;
  std::optional<std::uint64_t> steps;          // stop after these; with `every`, kernels of these
  std::optional<std::uint64_t> every;          // of so many steps
  std::optional<std::filesystem::path> verify; // run the job without and with these settings
  int repeats = 5;                             // pairs of runs, with `verify`
  bool print_environment = false;
  base::Overwrite overwrite = base::Overwrite::no;
  base::Verbosity verbosity = base::Verbosity::normal;
  std::vector<std::string> command; // the job's program and its arguments
};
Usage record_usage(RecordOptions& into);
// A verification compares step times, which the cheapest level shows.
inline std::string level_of(const RecordOptions& options) {
  return options.level.value_or(options.verify ? "operations" : "kernels");
}

// `ncclprobe record`: becomes the job's program, with the environment in which NCCL loads the
// profiler plugin. `program_folder`: where ncclprobe lies. Returns an exit code only if the program
// did not start, or with --print-env or --verify.
int record_command(const std::filesystem::path& program_folder, const Environment& environment,
                   const RecordOptions& options);

} // namespace ncclprobe::cli
