// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/late_causes.h"
#include "analysis/job/step_model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How long steps would last if something were different, by replaying what was captured.
namespace ncclprobe::analysis::job {

// rank: a rank's computing and host take as long as those of the ranks that do the same. host: no
// rank waits for its host, nor for its input. input: none waits for its input. transfers: none
// takes longer than the median of those that are alike. computing, function: their times change by
// a factor. bucket: gradients are sent in buckets of this size.
enum class ChangeKind : std::uint8_t { rank, host, input, transfers, computing, function, bucket };

struct Change {
  ChangeKind kind = ChangeKind::host;
  std::vector<int> ranks;   // of the job
  std::string function;     // as NCCL names it, in small letters, without "_"
  std::optional<Role> role; // only of these communicators
  double factor = 1;
  std::uint64_t bytes = 0;
};
// Changes that are made together.
struct WhatIf {
  std::string text;
  std::vector<Change> changes;
};
// "rank:7=median", "host=none", "input=none", "transfers=median", "computing=-10%",
// "all_reduce=-20%", "all_reduce:data=+50%", "bucket=100M", or several with "+" between them.
// Errors: invalid_argument, with examples.
base::Result<WhatIf> parse_what_if(const std::string& text);

// How well the model predicted changes that it had not seen: in every second step, how much longer
// it lasted because of what held it up most, from what is usual in the other steps.
struct ModelCheck {
  std::uint64_t steps = 0; // that were predicted
  // Median length of these steps, predicted from the usual times of the others, and seen.
  double predicted_ns = 0, seen_ns = 0;
  std::uint64_t disturbances = 0; // steps that something held up by more than 1%, and clearly
  double predicted_change_ns = 0, seen_change_ns = 0; // sums over these
  double median_error =
      0; // of the changes, their difference / the larger one; without disturbances 0
};

struct Predicted {
  std::uint32_t kind = 0;               // of steps
  double seen_ns = 0, predicted_ns = 0; // mean length of a step
  PerStep gain;     // its interval includes what the capture leaves open, and the model's error
  double share = 0; // gain / seen
  std::uint64_t operations = 0; // that changed
  ModelCheck check;
};
// For each kind of steps with lengths. `texts`: TraceSource::texts. Errors: not_found if nothing in
// the capture is meant, with what there is.
base::Result<std::vector<Predicted>> predict(const StepGraph& graph, const StepModel& model,
                                             const std::vector<ModelCheck>& checks,
                                             const WhatIf& what,
                                             const std::vector<std::string>& texts);

// By kind of steps.
std::vector<ModelCheck> check_model(const StepGraph& graph, const StepModel& model);

} // namespace ncclprobe::analysis::job
