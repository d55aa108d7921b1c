// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_report.h"
#include "launch/cli/fleet/fleet_baseline.h"
#include "launch/cli/fleet/fleet_command.h"
#include "launch/cli/fleet/fleet_trials.h"
#include "launch/cli/run/run_job.h"

#include <map>
#include <vector>

namespace ncclprobe::cli {

// The rounds of a check as trials of one run. Must outlive its job.
class FleetJob {
public:
  // `options` is complete (fill_defaults()).
  FleetJob(const World& world, const Session& session, FleetOptions options, FleetNodes nodes);

  Job job();

private:
  using Groups = std::vector<analysis::fleet::Group>;

  base::Result<workload::Plan> plan();
  std::vector<model::TrialSpec> begin_round();
  model::TrialSpec ask(Groups groups);
  std::vector<model::TrialSpec> learn(const model::TrialRecord& trial);
  void divide(const model::TrialRecord& trial, const Groups& groups,
              std::vector<model::TrialSpec>& more);
  bool measures_nothing() const;
  double busbw_gb_per_s(double time_ns, int group) const;
  int conclude(const std::filesystem::path& run_file, int exit_code);

  const World& world_;
  const Session& session_;
  FleetOptions options_;
  FleetNodes nodes_;
  FleetMeasurement what_;
  model::TrialSpec of_defaults_;
  analysis::fleet::CheckOptions limits_;
  analysis::fleet::History history_;
  std::optional<FleetBaseline> baseline_;
  std::map<int, Groups> asked_; // by trial, not learned yet
  std::string why_incomplete_;
  int next_id_ = 0;
};

} // namespace ncclprobe::cli
