// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/common_options.h"
#include "launch/cli/common/workload_options.h"
#include "workload/plan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// The options of a run, from the command line and a plan file. Unset means not given: the command
// line overrides the plan file, and that overrides the default job.
struct RunOptions : MeasuringOptions {
  std::optional<std::vector<model::Collective>> collectives;
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::vector<model::DataType>> types;
  std::optional<std::vector<model::ReduceOp>> ops;
  std::optional<std::vector<model::Placement>> placements;
  std::optional<std::vector<std::uint64_t>>
      counts; // without the default sizes, unless sizes are given as well
  std::optional<std::vector<int>> roots;
  std::optional<std::vector<int>> splits;
  std::optional<std::vector<int>> streams;
  std::optional<std::vector<std::uint64_t>> offsets;
  bool graph = false; // the same as launches = graph
  std::optional<std::vector<model::Launch>> launches;
  bool launch_costs = false;
  bool registered = false;
  std::optional<int> warmups;
  std::optional<int> iterations;
  std::optional<int> batches;
  std::optional<model::TimingMode> mode;
  std::optional<double> target_interval;
  std::optional<int> max_batches;
  std::optional<std::int64_t> budget_ns;
  std::optional<int> devices_per_worker;
  std::optional<std::string> prepare; // auto, on, off
  std::optional<workload::Proof> proof;
  std::optional<model::TraceLevel> trace;
  std::vector<workload::Axis> axes;
  std::vector<std::vector<model::Setting>> settings; // combinations, from plan files
  std::vector<workload::Axis> in_process; // settings of cells, by the names of the backend
  std::map<int, std::vector<model::Setting>> per_rank;
  std::vector<workload::Axis> compared_libraries; // each file is a setting, like a variable's value
  std::optional<std::vector<std::string>>
      cpu_affinities; // each a setting (launch/supervisor/cpu_policy.h)
  std::vector<std::string> overrides;
  WorkloadOptions workload; // instead of collectives
  bool no_sweep = false;    // the default settings alone
  std::string plan_file;
  std::string resume_file;   // resume this run; its file has all other options except
  bool retry_failed = false; // with resume_file: also rerun failed trials
};

// --rank-set: variables of some ranks.
Option rank_set_option(std::map<int, std::vector<model::Setting>>& into);

// Options of a run whose cells the command makes: where, what is compared, and timing.
Options options_of_given_cells(RunOptions& into);

// The options that a plan file can contain.
Options plan_file_options(RunOptions& into);

Usage run_usage(RunOptions& into);

struct PlanOptions : RunOptions {
  bool dry_run = false;
  std::optional<int> gpus; // GPUs of one imagined host, instead of this machine
  std::string format = "toml";
  base::Destination destination; // without a file: standard output
};
Usage plan_usage(PlanOptions& into);

} // namespace ncclprobe::cli
