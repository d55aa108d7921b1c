// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/layout.h"
#include "model/inventory.h"
#include "model/trial.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// Whether the next trial's workers may start while the current ones run, and why (not).
struct Preparation {
  bool on = false;
  std::string reason;
};

// `asked`: auto, on or off. Two generations of processes then share each GPU. So it is always off
// if a GPU's compute mode forbids that, or its free memory may not be enough. auto: only on GPUs,
// where start-up takes seconds.
Preparation choose_preparation(const std::string& asked, const std::string& backend,
                               const std::vector<model::HostInventory>& hosts,
                               const launch::Layout& layout,
                               const std::vector<model::TrialSpec>& trials);

} // namespace ncclprobe::cli
