// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/file_making.h"

#include "base/atomic_file.h"
#include "base/resource_limits.h"
#include "store/child_jobs.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

// HDF5 only reports that it could not write; the system gives the reason. 0: it does not.
int reason_of_the_system(base::AtomicFile& file) {
  ::lseek(file.fd(), 0, SEEK_END);
  return base::write_all(file.fd(), std::string(1 << 16, '\0'));
}

} // namespace

Result<std::string> make_file(const fs::path& target, const fs::path& workshop,
                              const std::function<Result<std::string>(const fs::path&)>& make,
                              const std::function<void()>& meanwhile) {
  NCCLPROBE_TRY_ASSIGN(base::AtomicFile file, base::AtomicFile::create(target, workshop));
  ChildJob job{target,
               "write",
               {},
               [&](const Progress&) -> Result<std::string> {
                 auto report = make(file.path_to_open());
                 // The slow work is done here, while the parent reports that it is at work.
                 if (report && ::fsync(file.fd()) != 0)
                   return base::system_error("sync", target, errno);
                 return report;
               },
               meanwhile};
  auto made = std::move(run_in_child({job}).front());
  if (made) {
    NCCLPROBE_TRY(file.commit(base::Overwrite::yes));
    return made;
  }
  const int problem = made.error().code == Errc::failed ? reason_of_the_system(file) : 0;
  if (problem == 0)
    return made;
  return fail(Error{Errc::io,
                    fmt::format("cannot write {}: {}", target.string(), std::strerror(problem)),
                    problem == ENOSPC || problem == EDQUOT ? "make room"
                    : problem == EFBIG                     ? base::file_size_limit()
                                                           : ""});
}

Error with_sources_kept(Error error, const std::string& sources) {
  if (error.code == Errc::io)
    error.hint += fmt::format("{}{} are kept", error.hint.empty() ? "" : "; ", sources);
  return error;
}

} // namespace ncclprobe::store
