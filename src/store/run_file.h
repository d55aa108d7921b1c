// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/run.h"

#include <filesystem>

// The run file: one HDF5 file per run. HDF5 files do not survive a kill or a full disk while they
// are being changed, so each finished trial becomes a small file of its own in the folder
// "<run file>.parts", made in memory with every return code checked, written under another name,
// synced, renamed. The run file is folded from the parts and renamed into place; then the folder is
// removed.
namespace ncclprobe::store {

// Where the parts of a run file lie.
std::filesystem::path parts_folder(const std::filesystem::path& run_file);

// Checks that a run file can be written there before anything is measured, creates the parts folder
// and stores the header in it. Holds a lock on the folder until the process ends. What is there of
// another run may be replaced: it stays in the parts folder until the new run file is there.
// Errors: io (with the system's words), invalid_argument if the run file or its parts exist
// already, unavailable (names the process) if another one is writing it.
base::Result<void> begin_run(const std::filesystem::path& run_file, const model::RunHeader& header,
                             base::Overwrite overwrite = base::Overwrite::no);

// Goes on with a run that was begun before: takes the lock as begin_run() does, and returns all
// that is stored. Parts written from now on count more than what the run file holds of the same
// trial, and so does a header. Errors: not_found, protocol, io, unavailable (names the process).
base::Result<model::Run> resume_run(const std::filesystem::path& run_file);

// Replaces the header of a run that was resumed. Errors: io.
base::Result<void> write_header(const std::filesystem::path& run_file,
                                const model::RunHeader& header);

// Stores one finished trial; `Replace::yes` lets it take the place of one that was stored before,
// which stays until the new one is safe. Errors: io; invalid_argument if it is stored already or
// has not one cell record for each cell. The parts stored before are intact.
enum class Replace { no, yes };
base::Result<void> write_part(const std::filesystem::path& run_file,
                              const model::TrialRecord& trial, Replace replace = Replace::no);

// Folds header and parts into the run file, renames it into place and removes the parts. A part
// that cannot be read is named in the result, kept, and the rest is folded. Can be repeated: after
// a kill in the middle, or when there is nothing to fold. Errors: not_found, unavailable (another
// process is still writing the run), io, protocol.
struct FoldReport {
  int trials = 0;                   // folded now
  std::vector<std::string> damaged; // "trial-000007.h5: reason"
  // "the trace of trial 7: ...": what is missing in traces (trace_parts.h), and why
  std::vector<std::string> trace_remarks;
};
base::Result<FoldReport> fold(const std::filesystem::path& run_file);

// Reads a run: the folded file, or header and parts of a run that never came to its end, or is
// still going on. Damaged parts are logged and left out. Files are tried out in a forked child
// first (guarded_read.h). Errors: not_found, protocol (no run file of ours, damaged, newer schema),
// and those of read_guarded(), with file and what to do.
base::Result<model::Run> read_run(const std::filesystem::path& run_file);

} // namespace ncclprobe::store
