// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/command_end.h"
#include "launch/cli/job/run_options.h"
#include "model/run.h"
#include "workload/plan.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

// `--resume run.h5`: the plan is made again from what the run file says of it, and the trials that
// are missing are run. A trial is one generation of processes, so one that was cut short is run
// again whole; its new record takes the place of the old one.
namespace ncclprobe::cli {

// What a run that was begun before says of the rest of it.
struct BegunRun {
  std::string plan; // as plan_to_store() made it
  // What was free then on the fullest of its GPUs: the plan was made for it.
  std::optional<std::uint64_t> free_device_bytes;
};

// Errors: not_found; unavailable if it cannot be looked at now; invalid_argument if it cannot be
// read or holds no plan.
base::Result<BegunRun> begun_run(const std::filesystem::path& run_file);

// The plan text that means these complete options wherever they are read: without the output.
std::string plan_to_store(RunOptions options, const std::vector<model::RankPlace>& ranks,
                          bool launched);

// What would make numbers of both parts of the run no longer comparable: hosts, processors, places
// of ranks, programs, environment, and the GPUs and libraries that the backend uses. "what: was A,
// is B"; empty if there is nothing. A reboot is no difference.
std::vector<std::string> differences(const model::RunHeader& stored, const model::RunHeader& now);

// What became of a trial, as far as running it again goes.
enum class Standing {
  done,   // every cell was measured, skipped or had wrong data
  failed, // it, or one of its cells, failed, timed out or crashed
  missing // it was cut short, or never ran
};
Standing standing_of(const model::TrialRecord& trial);

// What a run had stored before this process went on with it.
struct Stored {
  std::string run_id;                 // empty: nothing was stored
  std::set<int> done;                 // trials that are not run again
  std::map<int, int> cells_cut_short; // cells that ended, of stored trials that are run again
  Tally tally;                        // of those that are done

  bool any() const { return !done.empty() || !cells_cut_short.empty(); }
  // Whether this record is to be stored: not one that was cut short itself and holds no more than
  // the stored one.
  bool wants(const model::TrialRecord& trial) const;
};

// Goes on with the run at `run_file`: takes it over for this process and says what it holds.
// `now` is the header that a new run would have. Errors: as store::resume_run(); mismatch, with a
// line for each difference, unless forced (then they are stored in the header); mismatch if the
// plan made now is not the one that was begun, forced or not.
base::Result<Stored> resume(const std::filesystem::path& run_file, const RunOptions& options,
                            const model::RunHeader& now, const workload::Plan& plan);

} // namespace ncclprobe::cli
