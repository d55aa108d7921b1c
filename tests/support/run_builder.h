// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// Runs made by hand: every number follows from the calls.
//
//   RunBuilder run(8); // GPUs
//   run.trial().cell("all_reduce", 1 << 20, 12'000);
//   run.trial({{"NCCL_ALGO", "Tree"}}).cell("all_reduce", 1 << 20, 11'000);
namespace ncclprobe::support {

// A cell of a collective, "all_reduce", or of "empty_kernel". Its schedule is empty.
model::Cell make_cell(const std::string& workload, std::uint64_t bytes,
                      model::Placement placement = model::Placement::out_of_place);

// Ended well, data checked: `batches` batches of 20 iterations on each rank. Rank r takes
// time_ns + r per operation, plus `step_ns` more with each batch.
model::CellRecord make_record(int ranks, std::int64_t time_ns, std::int64_t step_ns = 0,
                              int batches = 3);
// Ended otherwise, without samples.
model::CellRecord make_record(model::OutcomeKind outcome, const std::string& reason,
                              std::vector<int> ranks = {});

void add_cell(model::TrialRecord& trial, model::Cell cell, model::CellRecord record);

// How a cell ended, if not as make_record() says.
struct CellDetails {
  model::Placement placement = model::Placement::out_of_place;
  std::int64_t step_ns = 0;
  int batches = 3;
  std::vector<model::Condition> conditions{};
  model::Outcome outcome{};
};

// A trial of a run. It is gone with the run, and when `trials` is changed otherwise.
class TrialBuilder {
public:
  TrialBuilder(model::Run& run, std::size_t index) : run_(run), index_(index) {}

  // On all ranks.
  TrialBuilder& cell(const std::string& workload, std::uint64_t bytes, std::int64_t time_ns,
                     const CellDetails& details = {});
  TrialBuilder& cell(model::Cell cell, model::CellRecord record);

  model::TrialRecord& operator*() const { return run_.trials.at(index_); }
  model::TrialRecord* operator->() const { return &**this; }

private:
  model::Run& run_;
  std::size_t index_;
};

// One host, and no trials yet.
class RunBuilder : public model::Run {
public:
  // With as many H200 GPUs as ranks.
  explicit RunBuilder(int ranks);
  // Without GPUs, on Gloo.
  static RunBuilder on_cpus(int ranks);

  // Without cells. It has the next id, and is the next replicate of its settings and purpose.
  TrialBuilder trial(std::vector<model::Setting> settings = {},
                     model::Purpose purpose = model::Purpose::measure);

private:
  RunBuilder() = default;
};

} // namespace ncclprobe::support
