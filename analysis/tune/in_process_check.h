// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/why.h"
#include "analysis/statistics/inference.h"
#include "analysis/tune/explanation.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::analysis::tune {

// A target that has in-process settings of its own in the delivery.
struct InProcessTarget {
  std::size_t target = 0; // index of Space::targets
  ProvenTarget cells;
  // As the search confirmed it: the process's settings, then those of the cell.
  std::vector<model::Setting> settings;
  double floor = 1; // the A/A ratio of the target
};

// The same settings of a target in two forms: changed within a process that also ran other
// settings, and as delivered, in fresh processes.
struct InProcessCheck {
  std::size_t target = 0;
  std::string settings;
  // Welch's test of the processes' times, as fresh / in process: above 1 the target was faster
  // within the process. Empty with fewer than two processes on a side.
  std::optional<RatioTest> ratio;
  int in_process_processes = 0;
  int fresh_processes = 0;
  bool differs = false; // beyond the interval and the A/A floor
  // As delivered, the library's log shows the choice that the settings ask for. Nothing: no log.
  std::optional<bool> is_logged;
  Why reason; // of a difference or another choice, as far as the library's log shows one
};

// `run`, `delivered`, `without`: as for prove_delivery(). `explanations`: of all targets; their
// choices by the library are those of the delivery's companion.
std::vector<InProcessCheck> check_in_process(const RunSummary& run,
                                             const std::vector<InProcessTarget>& targets,
                                             const std::string& delivered,
                                             const std::vector<Explanation>& explanations,
                                             const std::set<int>& without = {});

} // namespace ncclprobe::analysis::tune
