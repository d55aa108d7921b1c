// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/procurement.h"

#include "analysis/statistics/statistics.h"
#include "base/text_layout.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::procure {
namespace {

// With this price a cost is a number of node-hours.
Price hourly_one() {
  Price price;
  price.per_hour = 1;
  return price;
}

// Its energy in kWh: the cost at a price of 1 for a kWh and of nothing for the node.
Price kwh_one(const Price& price) {
  Price one{.pue = price.pue, .other_w = price.other_w};
  one.per_hour = 0;
  one.per_kwh = 1;
  return one;
}

Entry entry_of(const NodeType& node, const Workload& workload) {
  Entry entry{.step = step_figure(node, workload)};
  const int gpus = node.gpu.count;
  if (const auto& request = entry.step.request)
    if (auto need = memory_need(*request, entry.step.ranks))
      entry.memory_need = *need;
  entry.fits = fits(entry.memory_need, gpu_memory_bytes(node.gpu));
  if (entry.step.origin == Origin::unknown)
    return entry;
  entry.node_hours = cost_of(entry.step, hourly_one(), gpus, 1);
  entry.step_cost = cost_of_step(entry.step, node.price, gpus);
  if (auto amount = node.price.amount())
    entry.cost = cost_of(entry.step, node.price, gpus, *amount);
  if (auto energy = cost_of(entry.step, kwh_one(node.price), gpus, 0))
    entry.kwh = energy->range;
  if (auto energy = cost_of_step(entry.step, kwh_one({}), gpus))
    entry.step_kwh = energy->range;
  return entry;
}

// The mix's figure on a node; `of` gives that of one entry.
template <typename Of>
std::optional<Figure> mix_of(const Procurement& all, std::size_t node, Of of) {
  std::vector<Figure> parts;
  std::vector<double> weights;
  for (std::size_t i = 0; i < all.workloads.size(); ++i) {
    std::optional<Figure> part = of(all.entry(node, i));
    if (!part)
      return std::nullopt;
    parts.push_back(std::move(*part));
    weights.push_back(all.workloads[i].weight);
  }
  return mixed(parts, weights);
}

// How far halves of equal observations are apart, as a ratio above 1; nothing for fewer than two in
// each.
std::optional<double> halves_apart(const StepFigure& step) {
  std::vector<double> even, odd;
  for (std::size_t i = 0; i < step.observations.size(); ++i)
    (i % 2 == 0 ? even : odd).push_back(step.observations[i].step_ns);
  if (odd.size() < 2)
    return std::nullopt;
  const double ratio = geometric_mean(even) / geometric_mean(odd);
  return std::max(ratio, 1 / ratio);
}

std::optional<double> floor_of(const Procurement& all, std::size_t node,
                               const std::optional<std::size_t>& workload) {
  std::optional<double> floor;
  for (std::size_t i = 0; i < all.workloads.size(); ++i)
    if (!workload || *workload == i)
      floor = std::max(floor, halves_apart(all.entry(node, i).step));
  return floor;
}

std::size_t least_observations(const Procurement& all, const Difference& one) {
  std::size_t least = SIZE_MAX;
  for (std::size_t node : {one.first, one.second})
    for (std::size_t i = 0; i < all.workloads.size(); ++i)
      if (!one.workload || *one.workload == i) {
        const StepFigure& step = all.entry(node, i).step;
        // Runs differ as a whole: three of them say as much as a test needs.
        least = std::min(least, step.between_runs
                                    ? std::max(step.observations.size(), k_least_processes)
                                    : step.observations.size());
      }
  return least;
}

constexpr FindingKind k_no_scatter{"no_scatter", Severity::note, "one process has no scatter"},
    k_ranges_overlap{"ranges_overlap", Severity::note, "the ranges overlap"},
    k_too_few_of_each{"too_few_processes", Severity::note,
                      "a verdict needs {least} processes of each"},
    k_within_floor{"within_noise_floor", Severity::note,
                   "halves of equal processes differ by as much, {percent}"};

// As analysis::judge: beyond the noise, within what could have been detected, or neither.
void decide(const Procurement& all, Difference& one) {
  const bool apart = one.range.low > 1 || (one.range.high && *one.range.high < 1);
  const bool first_is_less = one.range.high && *one.range.high < 1;
  if (!one.p) {
    if (apart)
      one.verdict = first_is_less ? Verdict::better : Verdict::worse;
    else
      one.why_not_decided =
          Finding{least_observations(all, one) == 1 ? &k_no_scatter : &k_ranges_overlap};
    return;
  }
  if (least_observations(all, one) < k_least_processes) {
    one.why_not_decided = Finding{&k_too_few_of_each, {{"least", k_least_processes}}};
    return;
  }
  const double distance = std::max(*one.ratio, 1 / *one.ratio);
  if (*one.adjusted_p < k_alpha) {
    if (distance <= one.floor.value_or(1))
      one.why_not_decided =
          Finding{&k_within_floor, {{"percent", base::percent_above(*one.floor)}}};
    else
      one.verdict = *one.ratio < 1 ? Verdict::better : Verdict::worse;
    return;
  }
  if (*one.detectable > k_largest_missed_ratio)
    one.why_not_decided = undecided::too_noisy(*one.detectable);
  else
    one.verdict = Verdict::no_difference;
}

void add_difference(Procurement& all, std::vector<RatioTest>& tests, Difference one,
                    const std::optional<Figure>& first, const std::optional<Figure>& second) {
  if (!first || !second)
    return;
  one.range = ratio_range(*first, *second);
  if (first->value && second->value)
    one.ratio = *first->value / *second->value;
  if (auto test = tested(*first, *second)) {
    one.p = test->p;
    one.floor =
        std::max(floor_of(all, one.first, one.workload), floor_of(all, one.second, one.workload));
    tests.push_back(*test);
  }
  all.differences.push_back(std::move(one));
}

void compare_nodes(Procurement& all) {
  std::vector<RatioTest> tests;
  for (std::size_t first = 0; first < all.nodes.size(); ++first)
    for (std::size_t second = first + 1; second < all.nodes.size(); ++second) {
      for (std::size_t i = 0; i < all.workloads.size(); ++i) {
        const Entry &a = all.entry(first, i), &b = all.entry(second, i);
        add_difference(all, tests, {Quantity::time, i, first, second}, a.node_hours, b.node_hours);
        add_difference(all, tests, {Quantity::cost, i, first, second}, a.cost, b.cost);
      }
      if (all.workloads.size() < 2)
        continue;
      add_difference(all, tests, {Quantity::time, {}, first, second}, all.mix_hours[first],
                     all.mix_hours[second]);
      add_difference(all, tests, {Quantity::cost, {}, first, second}, all.mix_cost[first],
                     all.mix_cost[second]);
    }
  std::vector<double> p_values;
  for (const RatioTest& test : tests)
    p_values.push_back(test.p);
  const std::vector<double> adjusted = holm_adjusted(p_values);
  std::size_t at = 0;
  for (Difference& one : all.differences) {
    if (one.p) {
      one.adjusted_p = adjusted[at];
      one.detectable = detectable_ratio(tests[at], k_alpha / static_cast<double>(tests.size()));
      ++at;
    }
    decide(all, one);
  }
}

void find_turning_prices(Procurement& all) {
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    for (std::size_t against = 0; against < all.nodes.size(); ++against) {
      const NodeType& type = all.nodes[node];
      if (node == against || !type.price.amount() || !all.mix_cost[node] || !all.mix_cost[against])
        continue;
      auto cost_at = [&](double price) {
        return mix_of(all, node, [&](const Entry& entry) {
          return cost_of(entry.step, type.price, type.gpu.count, price);
        });
      };
      all.turning_prices.push_back(
          {node, against, *type.price.amount(),
           break_even_price(cost_at, *all.mix_cost[against], *type.price.amount())});
    }
}

} // namespace

std::string Workload::name() const {
  return fmt::format("{}:{}", model::to_string(pattern), model);
}

Procurement procurement_of(std::vector<NodeType> nodes, std::vector<Workload> workloads) {
  Procurement all{.workloads = std::move(workloads)};
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::size_t i = 0; i < all.workloads.size(); ++i) {
      all.entries.push_back(entry_of(nodes[node], all.workloads[i]));
      all.entries.back().node = node;
      all.entries.back().workload = i;
    }
  for (NodeType& node : nodes)
    node.runs.clear();
  all.nodes = std::move(nodes);
  for (std::size_t node = 0; node < all.nodes.size(); ++node) {
    all.mix_cost.push_back(mix_of(all, node, [](const Entry& entry) { return entry.cost; }));
    all.mix_hours.push_back(mix_of(all, node, [](const Entry& entry) { return entry.node_hours; }));
  }
  compare_nodes(all);
  find_turning_prices(all);
  return all;
}

} // namespace ncclprobe::analysis::procure
