// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

namespace ncclprobe::analysis::timeline {
struct Timeline;
}

// Hidden and exposed communication by kernels. Marks cannot show it, because within a compute
// stretch there are gaps in which no kernel computes (docs/method.md, "Steps").
namespace ncclprobe::analysis::steps {

// Means over the ranks and steps of a cell, ns: as in the timeline of that trial.
struct ByKernels {
  int trial = 0;
  std::uint64_t steps = 0; // of all ranks together
  double step_ns = 0;
  double compute_ns = 0;
  double communication_ns = 0;
  double hidden_ns = 0;
  double exposed_ns = 0;
  void divide(std::size_t steps_per_launch); // a trace knows only launches
  bool operator==(const ByKernels&) const = default;
};

// By trial and cell.
using TracedCells = std::map<int, std::map<int, ByKernels>>;

// For each cell with steps. Empty if kernels were not traced, or some of them were lost.
std::map<int, ByKernels> by_kernels(const timeline::Timeline& trace, int trial);

} // namespace ncclprobe::analysis::steps
