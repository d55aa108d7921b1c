// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/tune/tuning.h"
#include "launch/cli/run/run_job.h"
#include "launch/cli/tune/tune_command.h"
#include "launch/cli/tune/tune_delivery.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

// The search, and the proof of what it found, as two jobs of one session. A TuneJob must outlive
// both jobs.
class TuneJob {
public:
  // `options` is complete (fill_defaults()) but for the cells.
  TuneJob(const World& world, const Session& session, TuneOptions options);

  // Shows what would be tried. Returns an exit code.
  int show_prepared();

  // Measures, writes the folder and shows the report.
  Job job();

private:
  // Finds targets and space. Errors: those of the options and of the machine.
  Result<void> prepare();
  workload::TuningGround ground() const;
  analysis::search::Space space();
  analysis::search::Options search_options() const; // once prepared

  // What to run next: the search's requests, then what the present job needs at its end.
  std::vector<model::TrialSpec> ask();
  std::vector<model::TrialSpec> specs_of(const std::vector<analysis::search::TrialRequest>& all);
  // Their companions, if the backend has any.
  std::vector<model::TrialSpec>
  companions_of(const std::vector<analysis::search::Candidate>& candidates);
  // Chooses the settings from what was confirmed. Returns the trials that complete their proof.
  std::vector<model::TrialSpec> deliver();
  TuneContext context(); // once prepared
  // Whether the budget has time for trials that show the library's choices for clear losers.
  bool shows_losers() const;
  // Candidates whose choices by the library the report shows.
  std::vector<analysis::search::Candidate> losers_to_show();
  std::vector<analysis::search::Candidate> finalists() const;
  void keep(const model::TrialRecord& trial); // for the report
  std::vector<model::TrialSpec> learn(const model::TrialRecord& trial);
  std::optional<Job> proof_job();

  int conclude(const analysis::RunSummary* proof, int exit_code);
  Result<void> write_report(); // to the folder
  int show_report(int exit_code) const;
  RunOptions options_writing(const char* file) const;

  const World& world_;
  const Session& session_;
  TuneOptions options_;
  workload::PlanRequest request_; // the default settings, and the cells
  std::optional<TuneCells> cells_;
  workload::TuningSpace settings_; // that are searched
  analysis::tune::Tuning tuning_;
  std::optional<TuneTrials> trials_;
  std::optional<analysis::search::Search> search_;
  std::optional<TuneDelivery> delivery_;                // once the search has proven something
  std::map<int, analysis::search::TrialRequest> asked_; // by trial, not learned yet
  // Trials with NCCL's log, and what they ran: each candidate once.
  std::map<int, analysis::search::Candidate> companion_of_; // by trial
  std::vector<model::TrialRecord> companions_;
  std::vector<analysis::search::Candidate> shown_;
  // The search's first confirming trials. They and all that follow are the proof's job.
  std::vector<analysis::search::TrialRequest> to_confirm_;
  enum class Part { search, confirm, delivery } part_ = Part::search;
  std::int64_t last_end_ns_ = 0; // of a trial, by base::monotonic_ns()
  int next_id_ = 0;
  int exit_code_ = 0; // of what went wrong, apart from candidates
};

} // namespace ncclprobe::cli
