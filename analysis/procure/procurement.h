// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/cost.h"
#include "analysis/procure/memory_need.h"
#include "analysis/verdict/verdict.h"
#include "base/error.h"

#include <optional>
#include <string>
#include <vector>

// Types of nodes, compared for training: what a step and a million samples cost, which differences
// are beyond the noise, and at which price the order turns (docs/method.md, "Procurement").
namespace ncclprobe::analysis::procure {

// One workload on one node.
struct Entry {
  std::size_t node = 0;     // in Procurement::nodes
  std::size_t workload = 0; // in Procurement::workloads
  StepFigure step;
  std::optional<Figure> step_cost;       // of one step
  std::optional<Figure> cost;            // of a million samples
  std::optional<Figure> node_hours;      // of a million samples
  std::optional<MemoryNeed> memory_need; // of the fullest GPU
  Fits fits = Fits::unknown;
  // As far as power is known: of a million samples, and of the GPUs for one step.
  std::optional<Bounds> kwh, step_kwh;
};

enum class Quantity { time, cost };
constexpr auto enum_names(Quantity) {
  using enum Quantity;
  return std::to_array<std::pair<Quantity, std::string_view>>(
      {{time, "node-hours"}, {cost, "cost"}});
}

// One node against another: better means fewer node-hours or lower cost of the first.
struct Difference {
  Quantity quantity = Quantity::time;
  std::optional<std::size_t> workload; // absent: the weighted mix of all
  std::size_t first = 0, second = 0;   // nodes
  std::optional<double> ratio;         // first / second; absent if one only has a range
  Bounds range;                        // of the ratio
  std::optional<double> p, adjusted_p; // Holm, over all tests of the comparison
  std::optional<double> detectable;    // smallest ratio that would have had a verdict
  std::optional<double> floor;         // between halves of equal processes; to be exceeded
  Verdict verdict = Verdict::not_decided;
  Why why_not_decided;
};

// The price of one node at which all workloads together cost as much as on another.
struct TurningPrice {
  std::size_t node = 0, against = 0;
  double price = 0; // as given
  BreakEvenPrice break_even;
};

struct Procurement {
  std::vector<NodeType> nodes; // without their runs
  std::vector<Workload> workloads;
  std::vector<Entry> entries; // by node, then workload
  // Of a million samples of the mix, by node; nothing if a workload's is unknown.
  std::vector<std::optional<Figure>> mix_cost, mix_hours;
  std::vector<Difference> differences;
  std::vector<TurningPrice> turning_prices;
  // Pairs of nodes of which only one's cost includes power: their costs are not compared.
  std::vector<std::pair<std::size_t, std::size_t>> unlike_costs;

  const Entry& entry(std::size_t node, std::size_t workload) const {
    return entries[node * workloads.size() + workload];
  }
  // Whether its runs are of the synthetic backend.
  bool is_synthetic(std::size_t node) const {
    return !workloads.empty() && entry(node, 0).step.synthetic;
  }
};
// Finds what cannot be compared: runs of the synthetic backend with measured ones. And what is
// probably mistyped: a setting that no run of the node has, and a model that is neither known nor
// measured. Errors: invalid_argument with the place and what to do.
base::Result<void> check_inputs(const std::vector<NodeType>& nodes,
                                const std::vector<Workload>& workloads);
// What a workload leaves open is, on nodes that nobody measured, as the other nodes measured it.
Procurement procurement_of(std::vector<NodeType> nodes, std::vector<Workload> workloads);

} // namespace ncclprobe::analysis::procure
