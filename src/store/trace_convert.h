// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/trace_format.h"

#include <filesystem>
#include <string>
#include <vector>

// Spools become trace files, and trace files one. Both work in memory that does not grow with the
// trace (a few hundred MiB), in a child process, on a temporary file that is synced and renamed at
// the end: whoever is killed in between loses nothing, because what it was made from is still
// there.
namespace ncclprobe::store {

struct TraceReport {
  int ranks = 0;
  std::uint64_t rows = 0;
  std::vector<std::string> remarks; // what is missing in it, and why; one line each
};
NCCLPROBE_FIELDS(TraceReport, ranks, rows, remarks)

// Writes all rows of the spools, of whatever ranks, as one trace file; replaces `target`. Spools
// that cannot be read are named in the remarks. Errors: not_found, io, failed, protocol (none of
// them can be read). `meanwhile` is called about once a second.
base::Result<TraceReport> convert_spools(const std::vector<std::filesystem::path>& spools,
                                         const std::filesystem::path& target,
                                         const TraceIdentity& identity,
                                         const std::function<void()>& meanwhile = {});

// Writes all ranks of trace files of one trial as one; replaces `target`, which may be one of them.
// Where two have the same rank, the earlier in the list counts. Damaged files are named in the
// remarks. Errors as above; mismatch if they are not of one trial. `workshop`: where the file is
// made (base::AtomicFile).
base::Result<TraceReport> merge_traces(const std::vector<std::filesystem::path>& parts,
                                       const std::filesystem::path& target,
                                       const std::filesystem::path& workshop = {});

} // namespace ncclprobe::store
