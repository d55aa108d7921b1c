// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_making.h"

#include "base/json_document.h"
#include "store/file_making.h"

namespace ncclprobe::store {

namespace fs = std::filesystem;

Result<TraceReport> make_trace_file(const fs::path& target, const fs::path& workshop,
                                    const std::function<Result<TraceReport>(const fs::path&)>& make,
                                    const std::function<void()>& meanwhile) {
  NCCLPROBE_TRY_ASSIGN(const std::string made,
                       make_file(
                           target, workshop,
                           [&](const fs::path& file) -> Result<std::string> {
                             NCCLPROBE_TRY_ASSIGN(TraceReport report, make(file));
                             return base::json_or_cbor(base::writable(report));
                           },
                           meanwhile));
  TraceReport report;
  if (auto read = base::read_json_or_cbor(made, base::readable(report)); !read)
    return fail(Errc::failed, "cannot make {}: {}", target.string(), read.error().message);
  return report;
}

} // namespace ncclprobe::store
