// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/launch_benchmark.h"

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr int k_highest_priority = -5; // CUDA clamps values to its range

Cell empty_kernel(Launch launch, const Timing& timing) {
  Cell cell;
  cell.label.what = EmptyKernelLabel{launch};
  cell.timing = timing;
  cell.schedule.streams.push_back({"communication"});
  cell.schedule.operations.push_back({SpinOp{}, {}});
  cell.schedule.timed = {0, 1};
  if (launch == Launch::graph)
    cell.schedule.capture = cell.schedule.timed;
  return cell;
}

} // namespace

Result<std::vector<Cell>> make_launch_cells(int ranks, const Timing& timing, Graphs graphs) {
  struct Style {
    Launch launch = Launch::direct;
    int priority = 0;
  };
  std::vector<Style> styles{{}, {Launch::direct, k_highest_priority}};
  if (graphs == Graphs::yes)
    styles.push_back({Launch::graph, 0});
  std::vector<Cell> cells;
  for (TimingMode mode : {TimingMode::latency, TimingMode::batch}) {
    Timing how = timing;
    how.mode = mode;
    for (const Style& style : styles) {
      if (style.priority == 0)
        cells.push_back(empty_kernel(style.launch, how));
      CollectiveRequest request;
      request.bytes = k_launched_bytes;
      request.ranks = ranks;
      request.launch = style.launch;
      request.priority = style.priority;
      NCCLPROBE_TRY_ASSIGN(Cell cell, make_collective_cell(request, how));
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

} // namespace ncclprobe::workload
