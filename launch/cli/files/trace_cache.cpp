// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/trace_cache.h"

#include "base/hash.h"
#include "base/own_folder.h"
#include "base/text_files.h"
#include "launch/cli/common/private_folder.h"

#include <cstdlib>
#include <string>
#include <sys/stat.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours k_kept_for{30 * 24};

// Created if missing; empty if that is impossible.
fs::path cache_folder() {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value != nullptr && *value == '/' ? value : "");
  };
  fs::path parent = variable("XDG_CACHE_HOME");
  if (parent.empty() && !variable("HOME").empty())
    parent = variable("HOME") / ".cache";
  std::error_code trouble;
  if (!parent.empty())
    fs::create_directories(parent, trouble);
  const fs::path folder = parent / "ncclprobe";
  if (parent.empty() || trouble || !base::make_own_folder(folder) ||
      ::chmod(folder.c_str(), S_IRWXU) != 0)
    return {};
  return folder;
}

// "trace-<hash of the folder>-"
std::string prefix_of(const fs::path& folder) {
  std::error_code ignored;
  return fmt::format("trace-{:016x}-",
                     base::Hash().add(fs::canonical(folder, ignored).string()).value());
}

// A fingerprint of the spools.
std::string state_of(const std::vector<fs::path>& spools) {
  std::string facts;
  for (const fs::path& spool : spools) {
    struct stat about {};
    (void)::stat(spool.c_str(), &about);
    facts += fmt::format("{} {} {} {}.{}\n", spool.filename().string(), about.st_ino, about.st_size,
                         about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  }
  return fmt::format("{:016x}.h5", base::Hash().add(facts).value());
}

// Removes earlier traces of the same spools, and traces that nobody has used for long.
void tidy(const fs::path& cache, const std::string& prefix) {
  std::error_code ignored;
  for (const std::string& name : base::names_in(cache)) {
    const fs::path file = cache / name;
    const auto used = fs::last_write_time(file, ignored);
    if (!ignored &&
        (name.starts_with(prefix) || fs::file_time_type::clock::now() - used > k_kept_for))
      fs::remove(file, ignored);
  }
}

} // namespace

Result<store::TraceFile> cached_trace(const fs::path& folder, const std::vector<fs::path>& spools,
                                      const MakeTrace& make) {
  const fs::path cache = cache_folder();
  if (cache.empty())
    return temporary_trace(make);
  const std::string prefix = prefix_of(folder);
  const fs::path file = cache / (prefix + state_of(spools));
  std::error_code ignored;
  if (fs::is_regular_file(fs::symlink_status(file, ignored)))
    if (auto kept = store::TraceFile::open(file)) {
      fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
      return kept;
    }
  tidy(cache, prefix);
  NCCLPROBE_TRY(make(file));
  return store::TraceFile::open(file);
}

Result<store::TraceFile> temporary_trace(const MakeTrace& make) {
  const PrivateFolder folder;
  if (folder.path().empty())
    return fail({Errc::io, "there is no folder for temporary files",
                 "name one that can be written in TMPDIR"});
  const fs::path file = folder.path() / "trace.h5";
  NCCLPROBE_TRY(make(file));
  return store::TraceFile::open(file); // an open file needs no name
}

} // namespace ncclprobe::cli
