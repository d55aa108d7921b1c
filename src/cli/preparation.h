// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/layout.h"
#include "launch/supervisor.h"
#include "model/inventory.h"
#include "model/trial.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// When the next trial's workers are started, and why then.
struct Preparation {
  launch::NextTrial next_trial = launch::NextTrial::alone;
  std::string reason;
};

// The words for --prepare.
bool is_preparation(const std::string& word);

// `asked`: auto, early, late or off. Two generations of processes share each GPU then, so whatever
// is asked it is off where a GPU's compute mode forbids that or its free memory may not be enough.
// auto: late on GPUs, where start-up takes seconds; early is faster where few GPUs share a driver,
// but lets an idle context stand beside every measurement (analysis/METHOD.md).
Preparation choose_preparation(const std::string& asked, const std::string& backend,
                               const std::vector<model::Host>& hosts, const launch::Layout& layout,
                               const std::vector<model::TrialSpec>& trials);

} // namespace ncclprobe::cli
