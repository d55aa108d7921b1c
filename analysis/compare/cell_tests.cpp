// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/cell_tests.h"

#include "analysis/statistics/statistics.h"
#include "analysis/verdict/typical_scatter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::compare {
namespace {

template <typename Key>
class Scatters {
public:
  void add(const Key& key, const std::optional<LogScatter>& scatter) {
    if (scatter)
      all_[key].push_back(*scatter);
  }
  // After all were added. Nothing if none was.
  std::optional<LogScatter> typical_of(const Key& key) {
    auto known = typical_.find(key);
    if (known != typical_.end())
      return known->second;
    auto found = all_.find(key);
    if (found == all_.end())
      return std::nullopt;
    return typical_.emplace(key, typical(found->second)).first->second;
  }

private:
  std::map<Key, std::vector<LogScatter>> all_;
  std::map<Key, LogScatter> typical_;
};

// Of the processes of two runs, as TypicalScatter has them within one run.
class ProcessScatter {
public:
  ProcessScatter(const std::vector<RunCell>& a, const std::vector<RunCell>& b) {
    int side = 0;
    for (const std::vector<RunCell>* cells : {&a, &b}) {
      for (const RunCell& cell : *cells)
        if (cell.data != DataState::wrong) {
          const auto scatter = log_scatter(cell.times_ns);
          by_cell_.add(cell_of(cell.key), scatter);
          by_class_.add(class_of(side, cell.key), scatter);
        }
      ++side;
    }
  }
  std::optional<LogScatter> of_cell(const CellKey& key) {
    return by_cell_.typical_of(cell_of(key));
  }
  std::optional<LogScatter> of_class(int side, const CellKey& key) {
    return by_class_.typical_of(class_of(side, key));
  }

private:
  using Cell = std::tuple<model::CellLabel, int, model::TimingMode>;
  using Class = std::tuple<int, std::string, int>; // side, setting, size class
  static Cell cell_of(const CellKey& key) { return {key.label, key.ranks, key.timing}; }
  static Class class_of(int side, const CellKey& key) {
    return {side, key.setting, size_class(key.label.bytes)};
  }
  Scatters<Cell> by_cell_;
  Scatters<Class> by_class_;
};

void set_ratio(CellComparison& one) {
  one.speed_ratio = geometric_mean(one.a_ns) / geometric_mean(one.b_ns);
}

void test_processes(std::vector<CellComparison>& cells, const std::vector<RunCell>& a,
                    const std::vector<RunCell>& b) {
  ProcessScatter scatter(a, b);
  for (CellComparison& one : cells) {
    if (one.a_ns.empty() || one.b_ns.empty())
      continue;
    set_ratio(one);
    add_own_test(one, Basis::two_runs, one.a_ns, one.b_ns);
    if (one.tests.empty())
      continue;
    const auto of_a = scatter.of_class(0, one.key), of_b = scatter.of_class(1, one.key);
    if (of_a && of_b)
      one.tests.push_back(ratio_test(one.speed_ratio, {one.a_ns.size(), *of_a},
                                     {one.b_ns.size(), *of_b}, k_confidence));
    if (const auto of_cell = scatter.of_cell(one.key))
      one.tests.push_back(
          ratio_test(one.speed_ratio, one.a_ns.size(), one.b_ns.size(), *of_cell, k_confidence));
  }
}

std::vector<double> ratios_of_pairs(const std::vector<double>& a_ns,
                                    const std::vector<double>& b_ns) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a_ns.size(), b_ns.size()); ++i)
    ratios.push_back(a_ns[i] / b_ns[i]);
  return ratios;
}

// Equal sides scatter alike, so both tell how runs scatter; one run tells nothing.
std::optional<LogScatter> scatter_of_runs(const std::vector<double>& a_ns,
                                          const std::vector<double>& b_ns) {
  const auto of_a = log_scatter(a_ns), of_b = log_scatter(b_ns);
  return of_a && of_b ? pooled(*of_a, *of_b) : of_a ? of_a : of_b;
}

std::optional<LogScatter> scatter_of_units(Basis basis, const CellComparison& one) {
  return basis == Basis::interleaved ? log_scatter(ratios_of_pairs(one.a_ns, one.b_ns))
                                     : scatter_of_runs(one.a_ns, one.b_ns);
}

void test_runs(std::vector<CellComparison>& cells, Basis basis) {
  Scatters<std::pair<std::string, int>> by_class; // setting, size class
  auto class_of = [](const CellComparison& one) {
    return std::pair(one.key.setting, size_class(one.key.label.bytes));
  };
  for (const CellComparison& one : cells)
    by_class.add(class_of(one), scatter_of_units(basis, one));
  for (CellComparison& one : cells) {
    if (one.a_ns.empty() || one.b_ns.empty())
      continue;
    set_ratio(one);
    add_own_test(one, basis, one.a_ns, one.b_ns);
    if (one.tests.empty())
      continue;
    add_own_test(one, basis, one.a_medians_ns, one.b_medians_ns);
    const auto of_class = by_class.typical_of(class_of(one));
    if (of_class && basis == Basis::interleaved)
      one.tests.push_back(paired_ratio(one.speed_ratio, one.a_ns.size(), *of_class, k_confidence));
    else if (of_class)
      one.tests.push_back(
          ratio_test(one.speed_ratio, one.a_ns.size(), one.b_ns.size(), *of_class, k_confidence));
  }
}

// log(ratio) and log(1 / ratio) are equally far from 0.
double distance(double ratio) {
  return std::abs(std::log(ratio));
}

} // namespace

void add_own_test(Decision& one, Basis basis, const std::vector<double>& a_ns,
                  const std::vector<double>& b_ns) {
  std::optional<RatioTest> test;
  if (basis == Basis::two_runs)
    test = welch_ratio(a_ns, b_ns, k_confidence);
  else if (basis == Basis::interleaved)
    test = paired_ratio(ratios_of_pairs(a_ns, b_ns), k_confidence);
  else if (const auto scatter = scatter_of_runs(a_ns, b_ns))
    test = ratio_test(geometric_mean(a_ns) / geometric_mean(b_ns), a_ns.size(), b_ns.size(),
                      *scatter, k_confidence);
  if (test)
    one.tests.push_back(*test);
}

double alpha_of(Basis basis) {
  return basis == Basis::two_runs ? k_alpha : k_alpha / 2;
}

void test_cells(std::vector<CellComparison>& cells, Basis basis,
                const std::vector<RunCell>& other_a, const std::vector<RunCell>& other_b) {
  if (basis == Basis::two_runs)
    test_processes(cells, other_a, other_b);
  else
    test_runs(cells, basis);
  for (CellComparison& one : cells)
    take_most_careful(one);
}

void take_most_careful(Decision& one) {
  for (const RatioTest& test : one.tests) {
    if (!one.interval)
      one.interval = test.interval;
    one.interval->low = std::min(one.interval->low, test.interval.low);
    one.interval->high = std::max(one.interval->high, test.interval.high);
    one.p = std::max(one.p.value_or(0), test.p);
  }
}

void decide(Decision& one, Basis basis, std::size_t values_a, std::size_t values_b,
            std::size_t comparisons, const Request& request) {
  one.detectable = one.floor.value_or(1);
  for (const RatioTest& test : one.tests)
    one.detectable =
        std::max(*one.detectable,
                 detectable_ratio(test, alpha_of(basis) / static_cast<double>(comparisons)));
  const double matters = std::log(1 + request.difference);
  const double floor = std::log(one.floor.value_or(1));
  const double farthest = std::max(distance(one.interval->low), distance(one.interval->high));
  if (*one.adjusted_p < alpha_of(basis) && distance(one.speed_ratio) > floor) {
    one.verdict = one.speed_ratio > 1 ? CellVerdict::faster : CellVerdict::slower;
  } else if (std::max(farthest, floor) <= matters) {
    one.verdict = CellVerdict::no_difference;
  } else {
    one.verdict = CellVerdict::not_decided;
    one.reason = Reason::too_noisy;
    one.repeats = repeats_needed(one, basis, values_a, values_b, comparisons, request);
  }
}

std::optional<int> repeats_needed(const Decision& one, Basis basis, std::size_t values_a,
                                  std::size_t values_b, std::size_t comparisons,
                                  const Request& request) {
  TestPlan plan;
  plan.sides = basis == Basis::interleaved ? TestPlan::Sides::one : TestPlan::Sides::two;
  plan.alpha = alpha_of(basis) / static_cast<double>(comparisons);
  plan.missed /= static_cast<double>(comparisons);
  plan.ratio = 1 + request.difference;
  const auto a = static_cast<double>(values_a), b = static_cast<double>(values_b);
  const double values = basis == Basis::interleaved ? a : 2 / (1 / a + 1 / b);
  const std::size_t least = basis == Basis::two_runs ? k_least_processes : k_least_runs;
  int most_needed = static_cast<int>(std::max({least, values_a, values_b})) + 1;
  if (basis == Basis::baseline)
    most_needed = static_cast<int>(std::max(least, values_b + 1)); // the baseline may suffice
  for (const RatioTest& test : one.tests) {
    const auto needed = values_to_decide(test, values, plan, k_most_repeats);
    if (!needed)
      return std::nullopt;
    most_needed = std::max(most_needed, *needed);
  }
  // The floor falls with the root of the number of processes. It must leave room for the
  // difference.
  if (one.floor) {
    const double share = 2 * std::log(*one.floor) / std::log(1 + request.difference);
    const double needed = std::ceil(values * share * share);
    if (needed > k_most_repeats)
      return std::nullopt;
    most_needed = std::max(most_needed, static_cast<int>(needed));
  }
  return most_needed;
}

} // namespace ncclprobe::analysis::compare
