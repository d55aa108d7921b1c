// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/dump_files.h"

#include "analysis/hang/flight_recorder.h"
#include "analysis/hang/pickle.h"
#include "base/atomic_file.h"
#include "base/text_files.h"
#include "launch/cli/hang/file_troubles.h"

#include <filesystem>
#include <glob.h>
#include <sys/stat.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

// A dump of 20,000 entries has about 40 MB.
constexpr std::size_t k_most_dump_bytes = std::size_t{256} << 20;

std::vector<fs::path> files_of(const std::string& pattern) {
  std::error_code ignored;
  std::vector<fs::path> files;
  if (fs::is_directory(pattern, ignored)) {
    for (const std::string& name : base::names_in(pattern))
      files.push_back(fs::path(pattern) / name);
    return files;
  }
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

Result<void> add_file(const fs::path& file, analysis::hang::FlightRecorderCalls& calls) {
  NCCLPROBE_TRY_ASSIGN(std::string bytes, base::read_file(file, k_most_dump_bytes));
  NCCLPROBE_TRY_ASSIGN(const analysis::hang::Pickle dump,
                       analysis::hang::Pickle::parse(std::move(bytes), file.string()));
  struct stat about {};
  (void)::stat(file.c_str(), &about);
  return calls.add(file.string(), dump,
                   std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec);
}

} // namespace

Result<analysis::hang::Job> read_dumps(const std::vector<std::string>& patterns) {
  analysis::hang::FlightRecorderCalls calls;
  FileTroubles troubles({Errc::not_found, "the folder of dumps is empty", ""});
  bool any_read = false;
  for (const std::string& pattern : patterns)
    for (const fs::path& file : files_of(pattern)) {
      if (auto added = add_file(file, calls))
        any_read = true;
      else
        troubles.add(added.error());
    }
  return std::move(troubles).job_of(calls, any_read);
}

} // namespace ncclprobe::cli
