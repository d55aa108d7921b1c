// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "analysis/tune/tuning.h"
#include "launch/cli/run/run_job.h"
#include "launch/cli/tune/tune_command.h"
#include "launch/cli/tune/tune_trials.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

// The search, and the proof of what it found, as two jobs of one session. It must outlive both.
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
  double expected_proof_s() const;

  std::vector<model::TrialSpec> ask();
  std::vector<model::TrialSpec> learn(const model::TrialRecord& trial);
  std::optional<Job> proof_job();
  workload::Plan proof_plan();
  // What the search has proven, as all ranks of a job can take it.
  Result<CandidateSettings> delivery_with_table();
  CandidateSettings delivery_for_all() const;
  tuning::Header header(const analysis::RatioTest* gain) const;
  std::vector<model::CellLabel> labels() const;

  int conclude(const analysis::RunSummary* proof, int exit_code);
  int show_report(int exit_code) const;
  Result<void> write_files();
  RunOptions options_writing(const char* file) const;

  const World& world_;
  const Session& session_;
  TuneOptions options_;
  workload::PlanRequest request_; // the default settings, and the cells
  std::optional<TuneCells> cells_;
  workload::TuningSpace settings_; // that are searched
  analysis::tune::Tuning tuning_;
  CandidateSettings delivered_;
  std::optional<TuneTrials> trials_;
  std::optional<analysis::search::Search> search_;
  std::map<int, analysis::search::TrialRequest> asked_; // by trial, not learned yet
  int next_id_ = 0;
};

} // namespace ncclprobe::cli
