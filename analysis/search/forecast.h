// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/search.h"
#include "analysis/search/trial.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::search {

// What a stage is expected to do.
struct StageForecast {
  Stage stage = Stage::floor;
  // Combinations of values that there is time for; in `screen`, the sum over the targets. Absent:
  // the stage chooses none.
  std::optional<std::uint64_t> combinations = {};
  std::uint64_t all_combinations = 0;
  int trials = 0;
  double seconds = 0;
};

// What a search is expected to do with its budget, before anything is measured.
struct Forecast {
  double trial_s = 0; // one trial of the default
  // Those that have time. `explore` shares it with `race`, and may end earlier. The others have
  // what is kept back for them, which is the least that they need.
  std::vector<StageForecast> stages;
  double end_s = 0; // what follows the search (Options::end_s)
};

Forecast forecast(const Space& space, const Options& options);

} // namespace ncclprobe::analysis::search
