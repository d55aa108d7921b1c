// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/trace_convert.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// The traces of a run. During the run they are spools and parts in the parts folder. At the end
// they are one file for each traced trial in the folder "<stem of the run file>.trace" beside the
// run file, which stays small.
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
// The traces of a folded run, by trial. Empty if there is no such folder.
std::vector<StoredTrace> list_traces(const std::filesystem::path& run_file);

// "run.h5.parts/trace-000007-00003.clock": a spool of clock readings beside that of the worker.
std::filesystem::path trace_clock_path(const std::filesystem::path& run_file, int trial, int rank);

// Converts the spool of a worker, and the clock readings if there are any, to a part, and removes
// the spools. Errors: as convert_spools()'s; then the spool is kept. Calls `meanwhile` about once a
// second.
Result<TraceReport> store_trace_part(const std::filesystem::path& run_file,
                                     const TraceIdentity& identity, int rank,
                                     const std::function<void()>& meanwhile = {});

// Makes one trace per trial from everything in the parts folder: parts, and spools that were not
// converted because their supervisor was killed. An existing trace is completed. Returns a line for
// each thing that is missing, or could not be stored and is kept. Called by fold(), which holds the
// lock.
std::vector<std::string> fold_traces(const std::filesystem::path& run_file,
                                     const std::function<TraceIdentity(int trial)>& identity_of);

// Removes what a kill leaves in the parts folder and no trace can be made of: empty spools, and
// clock readings without a spool. Called by fold(), after fold_traces().
void remove_trace_leftovers(const std::filesystem::path& run_file);

// Trials for which fold_traces() has something to do, ascending.
std::vector<int> unfolded_traces(const std::filesystem::path& run_file);

// Makes the trace that fold_traces() would store for the identity's trial, as `target`, without
// changing anything else; for readers. Nothing else may use the folder of `target`. Errors: as
// merge_traces()'s.
Result<TraceReport> gather_trace(const std::filesystem::path& run_file,
                                 const TraceIdentity& identity,
                                 const std::filesystem::path& target);

} // namespace ncclprobe::store
