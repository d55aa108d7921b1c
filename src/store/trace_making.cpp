// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_making.h"

#include "base/atomic_file.h"
#include "store/child_jobs.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

// HDF5 says of a full disk only that it could not write; the system says why. 0: it does not.
int system_error(const fs::path& path) {
  errno = 0;
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  std::string block(1 << 16, '\0');
  ssize_t written = fd >= 0 ? ::write(fd, block.data(), block.size()) : -1;
  int problem = written < static_cast<ssize_t>(block.size()) ? errno : 0;
  if (fd >= 0)
    ::close(fd);
  return problem;
}

std::string bytes_of(const TraceReport& report) {
  return nlohmann::json{{"ranks", report.ranks}, {"rows", report.rows}, {"remarks", report.remarks}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TraceReport report_of(const std::string& bytes) {
  auto document = nlohmann::json::parse(bytes);
  return {document.at("ranks"), document.at("rows"), document.at("remarks")};
}

} // namespace

Result<TraceReport> make_trace_file(const fs::path& target,
                                    const std::function<Result<TraceReport>(const fs::path&)>& make,
                                    const std::function<void()>& meanwhile) {
  fs::path temporary = fs::path(target) += ".tmp";
  ChildJob job{target,
               "write",
               {},
               [&]() -> Result<std::string> {
                 auto report = make(temporary);
                 if (!report)
                   return base::fail(std::move(report.error()));
                 // What takes long is done here, while the parent tells that it is at work.
                 NCCLPROBE_TRY(base::sync_file(temporary));
                 return bytes_of(*report);
               },
               meanwhile};
  auto made = std::move(run_in_child({job}).front());
  std::error_code ignored; // the error that matters is the one before
  if (!made) {
    int problem = made.error().code == Errc::failed ? system_error(temporary) : 0;
    fs::remove(temporary, ignored);
    if (problem != 0)
      return base::fail(base::Error{
          Errc::io, fmt::format("cannot write {}: {}", target.string(), std::strerror(problem)),
          problem == ENOSPC || problem == EDQUOT ? "make room; what it is made from is kept"
                                                 : "what it is made from is kept"});
    return base::fail(std::move(made.error()));
  }
  if (auto published = base::publish_file(temporary, target); !published) {
    fs::remove(temporary, ignored);
    return base::fail(std::move(published.error()));
  }
  try {
    return report_of(*made);
  } catch (const std::exception& error) {
    return base::fail(Errc::failed, "cannot make {}: {}", target.string(), error.what());
  }
}

} // namespace ncclprobe::store
