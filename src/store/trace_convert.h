// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/trace_format.h"

#include <filesystem>
#include <string>
#include <vector>

// Converts spools to trace files, and merges trace files. Both work in a child process, in memory
// that does not grow with the trace (a few hundred MiB). The result is a temporary file that is
// synced and renamed at the end. A kill in between loses nothing, because the sources are still
// there.
namespace ncclprobe::store {

struct TraceReport {
  int ranks = 0;
  std::uint64_t rows = 0;
  std::vector<std::string> remarks; // what is missing in the trace, and why; one line each
};
NCCLPROBE_FIELDS(TraceReport, ranks, rows, remarks)

// Writes all rows of the spools, of any ranks, as one trace file; replaces `target`. Spools that
// cannot be read are named in the remarks. Errors: not_found, io, failed, protocol (no spool can be
// read). Calls `meanwhile` about once a second.
Result<TraceReport> convert_spools(const std::vector<std::filesystem::path>& spools,
                                   const std::filesystem::path& target,
                                   const TraceIdentity& identity,
                                   const std::function<void()>& meanwhile = {});

// Merges trace files of one trial; replaces `target`, which may be one of them. If two have the
// same rank, the earlier in the list is used. Damaged files are named in the remarks. Errors as
// above; mismatch if they are not of one trial. `workshop`: where the file is made
// (base::AtomicFile).
Result<TraceReport> merge_traces(const std::vector<std::filesystem::path>& parts,
                                 const std::filesystem::path& target,
                                 const std::filesystem::path& workshop = {});

} // namespace ncclprobe::store
