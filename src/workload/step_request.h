// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/step_label.h"
#include "workload/models/model_spec.h"

#include <cstdint>
#include <vector>

// What is trained, and how: everything that defines a step apart from its ranks.
namespace ncclprobe::workload {

struct StepRequest : model::StepOptions {
  ModelSpec model;
  std::uint64_t batch = 1;
  bool operator==(const StepRequest&) const = default;
};

// Which of a trial's ranks train, and which parts of the step run.
struct StepScope {
  int world = 1;          // ranks of the trial
  std::vector<int> ranks; // global, in the order of the communicator
  model::StepParts parts = model::StepParts::all;

  int size() const { return static_cast<int>(ranks.size()); }
  bool computes() const {
    return parts == model::StepParts::all || parts == model::StepParts::compute;
  }
  bool communicates() const {
    return (parts == model::StepParts::all || parts == model::StepParts::communication) &&
           size() > 1;
  }
};

} // namespace ncclprobe::workload
