// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/step_results.h"
#include "model/captured_step.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// How well a replay reproduces the captured step.
namespace ncclprobe::analysis::replay {

// A time of the capture and the same of the replay. 0: unknown.
struct TwoTimes {
  double captured_ns = 0, replayed_ns = 0;
  std::optional<double> ratio() const { // replay / capture
    return captured_ns > 0 && replayed_ns > 0 ? std::optional(replayed_ns / captured_ns)
                                              : std::nullopt;
  }
};

// Operations of one kind and size on one communicator. Times are without waiting, of one of them:
// medians.
struct OperationFidelity {
  int communicator = 0; // index in CapturedStep::communicators
  std::string role;
  model::Collective collective = model::Collective::all_reduce;
  std::uint64_t bytes = 0;
  std::size_t times = 0; // in a step
  TwoTimes time;
};

struct Fidelity {
  TwoTimes step;
  TwoTimes exposed;                          // communication that nothing is computed beside
  std::vector<OperationFidelity> operations; // those that take longest in a step first
};

// Of the whole step with default settings; nothing if it was not measured.
std::optional<Fidelity> fidelity(const model::CapturedStep& captured,
                                 const std::vector<steps::StepResult>& results);

} // namespace ncclprobe::analysis::replay
