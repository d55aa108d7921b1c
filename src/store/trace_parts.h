// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/trace_convert.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// The traces of a run: while it goes on spools and parts in the parts folder, at the end one file
// for each traced trial in the folder "<stem of the run file>.trace" beside the run file, which
// itself stays small.
namespace ncclprobe::store {

// "run.h5.parts/trace-000007-00003.h5", of the worker whose first rank is 3. The spool it is made
// from has the same name with ".spool" (trace/spool_path.h).
std::filesystem::path trace_part_path(const std::filesystem::path& run_file, int trial, int rank);

// "run.trace"
std::filesystem::path traces_folder(const std::filesystem::path& run_file);
// "run.trace/trial-000007.h5"
std::filesystem::path trace_path(const std::filesystem::path& run_file, int trial);

struct StoredTrace {
  int trial = -1;
  std::filesystem::path path;
};
// The traces of a run that was folded, by trial. None if there is no such folder.
std::vector<StoredTrace> list_traces(const std::filesystem::path& run_file);

// "run.h5.parts/trace-000007-00003.clock": a spool of clock readings beside that of the worker.
std::filesystem::path trace_clock_path(const std::filesystem::path& run_file, int trial, int rank);

// Converts the spool of a worker, and the clock readings if there are any, to a part, and removes
// the spools. Errors: as convert_spools()'s;
// then the spool is kept. `meanwhile` is called about once a second.
base::Result<TraceReport> store_trace_part(const std::filesystem::path& run_file,
                                           const TraceIdentity& identity, int rank,
                                           const std::function<void()>& meanwhile = {});

// Makes of all that lies in the parts folder one trace a trial: parts, and spools that nobody
// converted because their supervisor was killed. A trace that is there already is completed by what
// was found. Returns a line for each thing that is missing, or could not be stored and is kept.
// Called by fold(), which holds the lock.
std::vector<std::string> fold_traces(const std::filesystem::path& run_file,
                                     const std::function<TraceIdentity(int trial)>& identity_of);

// Trials for which fold_traces() has something to do, ascending.
std::vector<int> unfolded_traces(const std::filesystem::path& run_file);

// The trace that fold_traces() would store of the identity's trial, as `target`, for those who only
// read: nothing else is changed. The folder of `target` is for this alone. Errors: as
// merge_traces()'s.
base::Result<TraceReport> gather_trace(const std::filesystem::path& run_file,
                                       const TraceIdentity& identity,
                                       const std::filesystem::path& target);

} // namespace ncclprobe::store
