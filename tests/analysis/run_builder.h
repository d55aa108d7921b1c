// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// Runs made by hand for the tests of the analysis: every number follows from the arguments.
namespace ncclprobe::analysis_test {

// A cell of `workload`, its schedule empty.
model::Cell make_cell(const std::string& workload, std::uint64_t bytes,
                      model::Placement placement = model::Placement::out_of_place);

// Ended well, data checked: `batches` batches of 20 iterations on each rank. Rank r takes
// time_ns + r per operation, plus `step_ns` more with each batch.
model::CellRecord make_record(int ranks, std::int64_t time_ns, std::int64_t step_ns = 0,
                              int batches = 3);

struct TrialArguments {
  int id = 0;
  std::vector<model::Setting> settings{};
  int replicate = 0;
  int ranks = 2;
  std::string backend = "nvidia";
};
// Without cells.
model::TrialRecord make_trial(const TrialArguments& arguments);
void add_cell(model::TrialRecord& trial, model::Cell cell, model::CellRecord record);

// One host with `ranks` H200 GPUs, no trials.
model::Run make_gpu_run(int ranks);
// One host without GPUs, Gloo, no trials.
model::Run make_cpu_run(int ranks);

} // namespace ncclprobe::analysis_test
