// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/run.h"

#include <filesystem>

// The run file: one HDF5 file per run. An HDF5 file does not survive a kill or a full disk while it
// is being changed. So each finished trial becomes a small file of its own in the folder "<run
// file>.parts". It is made with every return code checked, in memory or, if it is large, in a child
// process, under another name. Then it is synced and renamed. At the end the parts are folded into
// the run file, which is renamed into place. Then the folder is removed.
namespace ncclprobe::store {

class TrialRows;

// Of the library that is loaded: "1.10.8".
std::string hdf5_version();

// Where the parts of a run file lie.
std::filesystem::path parts_folder(const std::filesystem::path& run_file);

// Checks, before anything is measured, that a run file can be written there; creates the parts
// folder and stores the header in it. Holds a lock on the folder until the process ends. With
// permission to replace, the files of another run stay in the parts folder until the new run file
// exists. Errors: io (with the system's words), invalid_argument if the run file or its parts exist
// already, unavailable (names the process) if another process is writing it.
Result<void> begin_run(const std::filesystem::path& run_file, const model::RunHeader& header,
                       base::Overwrite overwrite = base::Overwrite::no);

// Samples, conditions and marks of cells: nearly all that a run has. drop: each cell's are dropped
// as soon as they are read.
enum class Rows { keep, drop };

// Resumes a run: takes the lock as begin_run() does, and returns everything that is stored. Parts
// and headers written from now on take precedence over the run file. Errors: not_found, protocol,
// io, unavailable (names the process).
Result<model::Run> resume_run(const std::filesystem::path& run_file, Rows rows = Rows::keep);

// Replaces the header of a run that was resumed. Errors: io.
Result<void> write_header(const std::filesystem::path& run_file, const model::RunHeader& header);

// Stores one finished trial. `Replace::yes` replaces a stored trial, which stays until the new one
// is safe. `rows`: those of its cells, if the record has none; they are used up. Errors: io;
// invalid_argument if it is stored already, or does not have one cell record for each cell. After
// an error the parts stored before are intact.
enum class Replace { no, yes };
Result<void> write_part(const std::filesystem::path& run_file, const model::TrialRecord& trial,
                        Replace replace = Replace::no, TrialRows* rows = nullptr);

// Folds header and parts into the run file, renames it into place and removes the parts. A part
// that cannot be read is named in the result and kept; the rest is folded. It can be repeated, also
// after a kill in the middle or when there is nothing to fold. Errors: not_found, unavailable
// (another process is still writing the run), io, protocol.
struct FoldReport {
  int trials = 0;                   // folded now
  std::vector<std::string> damaged; // "trial-000007.h5: reason"
  // "the trace of trial 7: ...": what is missing in traces (trace_parts.h), and why
  std::vector<std::string> trace_remarks;
};
Result<FoldReport> fold(const std::filesystem::path& run_file);

// Reads a run: the folded file, or header and parts of a run that is unfinished or still going on.
// Damaged parts are logged and left out. Files are first read in a forked child (guarded_read.h).
// Errors: not_found, protocol (not our run file, damaged, newer schema), and those of
// check_guarded(), with file and advice.
Result<model::Run> read_run(const std::filesystem::path& run_file, Rows rows = Rows::keep);

} // namespace ncclprobe::store
