// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/procurement.h"

#include "analysis/report/heading.h"
#include "analysis/results/cell_summary.h"
#include "analysis/statistics/statistics.h"
#include "base/add_once.h"
#include "base/text_layout.h"
#include "workload/models/model_file.h"

#include <algorithm>
#include <cmath>
#include <set>

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

// With batch, sequence and type as the entries so far have them, where all agree.
Workload completed(const Procurement& all, std::size_t number) {
  Workload workload = all.workloads[number];
  const workload::StepRequest* first = nullptr;
  for (const Entry& entry : all.entries) {
    const auto& request = entry.step.request;
    if (!request || entry.workload != number)
      continue;
    if (first && (first->batch != request->batch || first->type != request->type ||
                  first->model.sequence != request->model.sequence))
      return workload;
    first = &*request;
  }
  if (!first)
    return workload;
  workload.batch = workload.batch.value_or(first->batch);
  workload.type = workload.type.value_or(first->type);
  if (!workload.sequence && first->model.sequence > 0)
    workload.sequence = first->model.sequence;
  return workload;
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
    parts.push_back(*part);
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

bool have_like_costs(const Procurement& all, std::size_t first, std::size_t second) {
  return all.nodes[first].price.includes_power() == all.nodes[second].price.includes_power();
}

void compare_nodes(Procurement& all) {
  std::vector<RatioTest> tests;
  for (std::size_t first = 0; first < all.nodes.size(); ++first)
    for (std::size_t second = first + 1; second < all.nodes.size(); ++second) {
      const bool like_costs = have_like_costs(all, first, second);
      if (!like_costs && all.mix_cost[first] && all.mix_cost[second])
        all.unlike_costs.emplace_back(first, second);
      for (std::size_t i = 0; i < all.workloads.size(); ++i) {
        const Entry &a = all.entry(first, i), &b = all.entry(second, i);
        add_difference(all, tests, {Quantity::time, i, first, second}, a.node_hours, b.node_hours);
        if (like_costs)
          add_difference(all, tests, {Quantity::cost, i, first, second}, a.cost, b.cost);
      }
      if (all.workloads.size() < 2)
        continue;
      add_difference(all, tests, {Quantity::time, {}, first, second}, all.mix_hours[first],
                     all.mix_hours[second]);
      if (like_costs)
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
      if (node == against || !type.price.amount() || !all.mix_cost[node] ||
          !all.mix_cost[against] || !have_like_costs(all, node, against))
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

// Numbers of a model say nothing about a node that was measured.
base::Result<void> check_origins(const std::vector<NodeType>& nodes) {
  std::vector<std::string> synthetic, measured;
  const NodeType* first = nullptr;
  for (const NodeType& node : nodes) {
    if (is_synthetic(node)) {
      synthetic.push_back(fmt::format("'{}'", node.name));
      first = first ? first : &node;
    }
    if (std::ranges::any_of(node.runs,
                            [](const model::Run& run) { return !analysis::is_synthetic(run); }))
      measured.push_back(fmt::format("'{}'", node.name));
  }
  if (synthetic.empty() || measured.empty())
    return {};
  return base::fail(
      {base::Errc::invalid_argument,
       fmt::format("{}{} {} runs of the synthetic backend, {} {} measured runs: these cannot be "
                   "compared",
                   first->place.empty() ? "" : first->place + ": node ",
                   base::join(synthetic, ", "), synthetic.size() == 1 ? "has" : "have",
                   base::join(measured, ", "), measured.size() == 1 ? "has" : "have"),
       "measure all nodes, or none"});
}

} // namespace

base::Result<void> check_inputs(const std::vector<NodeType>& nodes,
                                const std::vector<Workload>& workloads) {
  auto wrong = [](const std::string& place, const std::string& what, std::string hint) {
    return base::fail({base::Errc::invalid_argument,
                       place.empty() ? what : fmt::format("{}: {}", place, what), std::move(hint)});
  };
  NCCLPROBE_TRY(check_origins(nodes));
  std::set<std::string> measured; // models
  for (const NodeType& node : nodes) {
    std::vector<std::string> settings;
    for (const model::Run& run : node.runs)
      for (const model::TrialRecord& trial : run.trials)
        for (const model::Cell& cell : trial.spec.cells) {
          base::add_once(settings, setting_name(trial.spec, cell));
          if (const model::StepLabel* step = cell.label.step())
            measured.insert(step->model);
        }
    if (!node.setting.empty() && std::ranges::find(settings, node.setting) == settings.end())
      return wrong(
          node.place,
          fmt::format("node '{}': none of its runs has the setting '{}'", node.name, node.setting),
          fmt::format("they have: {}", base::join(settings, "; ")));
  }
  for (const Workload& workload : workloads) {
    if (measured.contains(workload.model))
      continue;
    const auto known =
        workload::find_model(workload.model, {.sequence = workload.sequence.value_or(0)});
    if (!known)
      return wrong(workload.place,
                   fmt::format("workload '{}': {}", workload.name(), known.error().message),
                   known.error().hint.empty() ? "'ncclprobe models' lists the known ones"
                                              : known.error().hint);
  }
  return {};
}

std::string Workload::name() const {
  return fmt::format("{}:{}", model::to_string(pattern), model);
}

Procurement procurement_of(std::vector<NodeType> nodes, std::vector<Workload> workloads) {
  Procurement all{.workloads = std::move(workloads)};
  all.entries.resize(nodes.size() * all.workloads.size());
  for (const bool published : {false, true}) // published ones need what others measured
    for (std::size_t node = 0; node < nodes.size(); ++node)
      for (std::size_t i = 0; i < all.workloads.size(); ++i)
        if (nodes[node].published == published) {
          Entry entry = entry_of(nodes[node], published ? completed(all, i) : all.workloads[i]);
          entry.node = node;
          entry.workload = i;
          all.entries[node * all.workloads.size() + i] = std::move(entry);
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
