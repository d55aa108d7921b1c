// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/bandwidth.h"
#include "analysis/results/cell_summary.h"
#include "analysis/results/cell_time.h"

#include <cstdlib>

// As not_reached_options.cpp, for examinations: these functions serve to make one.
namespace ncclprobe::analysis {

bool is_measured(const model::CellRecord&) {
  std::abort();
}

int communicator_size(const model::TrialSpec&, const model::Cell&) {
  std::abort();
}

std::optional<double> algbw_gb_per_s(std::uint64_t, double) {
  std::abort();
}

std::optional<CellTime> cell_time(const std::vector<model::Sample>&) {
  std::abort();
}

std::optional<double> busbw_factor(const model::CellLabel&, int) {
  std::abort();
}

} // namespace ncclprobe::analysis
