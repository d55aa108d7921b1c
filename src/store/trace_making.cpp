// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_making.h"

#include "base/atomic_file.h"
#include "base/json_document.h"
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

Result<TraceReport> make_trace_file(const fs::path& target, const fs::path& workshop,
                                    const std::function<Result<TraceReport>(const fs::path&)>& make,
                                    const std::function<void()>& meanwhile) {
  NCCLPROBE_TRY_ASSIGN(base::AtomicFile file, base::AtomicFile::create(target, workshop));
  ChildJob job{target,
               "write",
               {},
               [&](const Progress&) -> Result<std::string> {
                 auto report = make(file.path_to_open());
                 if (!report)
                   return fail(std::move(report.error()));
                 // The slow work is done here, while the parent reports that it is at work.
                 if (::fsync(file.fd()) != 0)
                   return base::system_error("sync", target, errno);
                 return base::json_or_cbor(base::writable(*report));
               },
               meanwhile};
  auto made = std::move(run_in_child({job}).front());
  if (!made) {
    int problem = made.error().code == Errc::failed ? reason_of_the_system(file) : 0;
    if (problem != 0)
      return fail(Error{
          Errc::io, fmt::format("cannot write {}: {}", target.string(), std::strerror(problem)),
          problem == ENOSPC || problem == EDQUOT ? "make room; what it is made from is kept"
          : problem == EFBIG ? base::file_size_limit() + "; what it is made from is kept"
                             : "what it is made from is kept"});
    return fail(std::move(made.error()));
  }
  NCCLPROBE_TRY(file.commit(base::Overwrite::yes));
  TraceReport report;
  if (auto read = base::read_json_or_cbor(*made, base::readable(report)); !read)
    return fail(Errc::failed, "cannot make {}: {}", target.string(), read.error().message);
  return report;
}

} // namespace ncclprobe::store
