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

// `--resume run.h5`: makes the plan again from the options in the run file, and runs the missing
// trials. A trial is one generation of processes, so one that was cut short runs again as a whole;
// its new record replaces the old one.
namespace ncclprobe::cli {

// What a run file says about the run to resume.
struct BegunRun {
  std::string plan; // from plan_to_store()
  // Free memory on the fullest of its GPUs when the run began; the plan was made for it.
  std::optional<std::uint64_t> free_device_bytes;
};

// Errors: not_found; unavailable if it cannot be read now; invalid_argument if it is damaged or
// holds no plan.
Result<BegunRun> begun_run(const std::filesystem::path& run_file);

// These complete options as the text of a plan file, valid in any folder and without the output.
std::string plan_to_store(RunOptions options, const std::vector<model::RankPlace>& ranks,
                          bool launched);

// Differences that make the two parts of the run incomparable: hosts, processors, places of ranks,
// programs, environment, and the GPUs and libraries that the backend uses. "what: was A, is B";
// empty if there are none. A reboot is not a difference.
std::vector<std::string> differences(const model::RunHeader& stored, const model::RunHeader& now);

// The state of a trial, for deciding whether to run it again.
enum class Standing {
  done,   // every cell was measured, skipped or had wrong data
  failed, // the trial, or one of its cells
  missing // it was cut short, or never ran
};
Standing standing_of(const model::TrialRecord& trial);

// The stored part of a run that this process resumes.
struct Stored {
  std::string run_id;                 // empty: nothing was stored
  std::set<int> done;                 // trials that are not run again
  std::map<int, int> cells_cut_short; // cells that ended, of stored trials that are run again
  Tally tally;                        // of the trials that are done

  bool any() const { return !done.empty() || !cells_cut_short.empty(); }
  // True if this record should be stored: it was not cut short, or holds more than the stored one.
  bool wants(const model::TrialRecord& trial) const;
};

// Resumes the run at `run_file`: locks it for this process and returns what it holds. `now` is the
// header that a new run would have. Errors: as store::resume_run(); mismatch, with a line for each
// difference, unless forced (then they are stored in the header); mismatch if the plan made now
// differs from the stored one, even if forced.
Result<Stored> resume(const std::filesystem::path& run_file, const RunOptions& options,
                      const model::RunHeader& now, const workload::Plan& plan);

} // namespace ncclprobe::cli
