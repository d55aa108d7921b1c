// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/trial.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ncclprobe::analysis::tune {

using base::enum_names;
using base::to_string;

// What a trial was for.
enum class TrialRole {
  search,    // to choose and to confirm
  delivery,  // it measured the delivery as a job loads it, or the default beside it
  companion, // untimed, with the library's log
};

// How a cell failed.
struct FailedCell {
  std::size_t cell = 0; // index in TrialRequest::cells
  model::Outcome outcome;
};

// A trial that ran.
struct RanTrial {
  std::string file; // run file in the folder
  int number = 0;   // in that file
  TrialRole role = TrialRole::search;
  search::TrialRequest request; // that it ran; not of companions
  std::string settings;         // of its processes; "default" if none
  int cells = 0;
  model::Outcome outcome;
  std::vector<FailedCell> failed; // not those that were not reached
  double seconds = 0;
  std::uint64_t throttle_reasons = 0; // of all cells (analysis/results/cell_readings.h)
};

} // namespace ncclprobe::analysis::tune
