// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison.h"

#include "analysis/compare/cell_tests.h"
#include "analysis/compare/unmatched.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace ncclprobe::analysis::compare {
namespace {

using Runs = std::vector<const ComparedRun*>;

Runs pointers_to(const std::vector<ComparedRun>& runs) {
  Runs all;
  for (const ComparedRun& run : runs)
    all.push_back(&run);
  return all;
}

FactsOfRuns facts_of(const Runs& runs) {
  FactsOfRuns facts;
  for (const ComparedRun* run : runs)
    facts.push_back(&run->facts);
  return facts;
}

// Why this cell of a run has no figure to compare.
Reason fault_of(const RunCell& cell) {
  if (cell.data == DataState::wrong)
    return Reason::wrong_data;
  if (!cell.not_as_asked.empty())
    return Reason::not_as_asked;
  if (cell.times_ns.empty() ||
      std::ranges::any_of(cell.times_ns, [](double time_ns) { return !(time_ns > 0); }))
    return Reason::no_times;
  return Reason::none;
}

void refuse(CellComparison& one, Reason why) {
  one.verdict = CellVerdict::not_comparable;
  if (one.reason == Reason::none)
    one.reason = why;
}

// Adds the values of a side; a fault of one run only makes the cell lack that run's value, unless
// it is wrong data, which is never passed over.
void add_values(CellComparison& one, const Runs& side, Basis basis,
                std::vector<double> CellComparison::*values,
                std::vector<double> CellComparison::*medians, bool CellComparison::*wrong) {
  Reason fault = Reason::none;
  for (const ComparedRun* run : side) {
    const RunCell* cell = run->cell(one.key);
    const Reason why = cell ? fault_of(*cell) : Reason::not_measured;
    if (why == Reason::wrong_data) {
      one.*wrong = true;
      refuse(one, why);
    }
    if (why != Reason::none) {
      fault = why;
      // The n-th values of both sides are a pair.
      if (basis == Basis::interleaved)
        refuse(one, why);
      continue;
    }
    if (basis == Basis::two_runs) {
      one.*values = cell->times_ns;
    } else {
      (one.*values).push_back(geometric_mean(cell->times_ns));
      (one.*medians).push_back(median(cell->times_ns));
    }
  }
  if ((one.*values).empty())
    refuse(one, fault);
}

bool is_synthetic(const Runs& runs) {
  return std::ranges::any_of(runs, &ComparedRun::synthetic);
}
bool is_measured(const Runs& runs) {
  return !std::ranges::all_of(runs, &ComparedRun::synthetic);
}

std::vector<CellComparison> cells_of(const Runs& a, const Runs& b, Basis basis) {
  std::set<CellKey> keys;
  const CellKeys of_a(a), of_b(b);
  for (const Runs* side : {&a, &b})
    for (const ComparedRun* run : *side)
      for (const RunCell& cell : run->cells)
        keys.insert(cell.key);
  const bool mixed = (is_synthetic(a) && is_measured(b)) || (is_measured(a) && is_synthetic(b));
  std::vector<CellComparison> cells;
  for (const CellKey& key : keys) {
    CellComparison one;
    one.key = key;
    if (mixed)
      refuse(one, Reason::synthetic_against_real);
    else if (!of_a.has(key))
      refuse(one, of_a.why_not(key));
    else if (!of_b.has(key))
      refuse(one, of_b.why_not(key));
    add_values(one, a, basis, &CellComparison::a_ns, &CellComparison::a_medians_ns,
               &CellComparison::wrong_in_a);
    add_values(one, b, basis, &CellComparison::b_ns, &CellComparison::b_medians_ns,
               &CellComparison::wrong_in_b);
    if (one.verdict == CellVerdict::not_comparable) {
      one.a_ns.clear();
      one.b_ns.clear();
    }
    cells.push_back(std::move(one));
  }
  return cells;
}

void set_floors(CellComparison& one, const ComparedRun& a, const ComparedRun& b) {
  const auto size = static_cast<std::size_t>(size_class(one.key.label.bytes));
  auto of = [size](const ComparedRun& run) {
    return size < run.floors.size() ? run.floors[size] : std::nullopt;
  };
  one.floor_a = of(a);
  one.floor_b = of(b);
  if (one.floor_a && one.floor_b)
    one.floor = std::max(*one.floor_a, *one.floor_b);
}

// Why a comparable cell cannot be decided, whatever its values.
Reason lack_of(const CellComparison& one, Basis basis) {
  const std::size_t fewest = std::min(one.a_ns.size(), one.b_ns.size());
  if (basis == Basis::two_runs) {
    if (fewest < 2)
      return Reason::one_process;
    if (fewest < k_least_processes)
      return Reason::too_few_processes;
    return one.floor ? Reason::none : Reason::no_noise_floor;
  }
  const std::size_t needed = basis == Basis::baseline ? one.a_ns.size() : fewest;
  return needed < k_least_runs ? Reason::too_few_runs : Reason::none;
}

void set_lack(Decision& one, Reason lack) {
  one.reason = lack;
  if (lack == Reason::one_process || lack == Reason::too_few_processes)
    one.repeats = static_cast<int>(k_least_processes);
  if (lack == Reason::too_few_runs)
    one.repeats = static_cast<int>(k_least_runs);
}

void decide_cells(RunComparison& comparison) {
  std::vector<CellComparison*> tested;
  std::vector<double> p_values;
  for (CellComparison& one : comparison.cells) {
    if (one.verdict == CellVerdict::not_comparable)
      continue;
    const Reason lack = lack_of(one, comparison.basis);
    if (lack != Reason::none || !one.p) {
      set_lack(one, lack == Reason::none ? Reason::too_few_runs : lack);
      continue;
    }
    tested.push_back(&one);
    p_values.push_back(*one.p);
  }
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    tested[i]->adjusted_p = adjusted[i];
    decide(*tested[i], comparison.basis, tested[i]->a_ns.size(), tested[i]->b_ns.size(),
           tested.size(), comparison.request);
  }
}

Conclusion conclusion_of(const RunComparison& comparison) {
  auto any = [&](CellVerdict verdict) {
    return comparison.count(verdict) > 0 ||
           (comparison.overall && comparison.overall->verdict == verdict);
  };
  if (comparison.count(CellVerdict::not_comparable) == static_cast<int>(comparison.cells.size()))
    return Conclusion::not_comparable;
  const bool between_runs_known = comparison.basis != Basis::two_runs;
  if (any(CellVerdict::slower))
    return between_runs_known ? Conclusion::regression : Conclusion::differ;
  if (any(CellVerdict::faster))
    return between_runs_known ? Conclusion::improvement : Conclusion::differ;
  const bool decided = comparison.overall
                           ? comparison.overall->verdict == CellVerdict::no_difference &&
                                 comparison.beyond_the_difference().empty()
                           : !any(CellVerdict::not_decided);
  return decided ? Conclusion::no_difference : Conclusion::undecided;
}

RunComparison finished(RunComparison comparison, const Runs& a, const Runs& b) {
  comparison.runs_a = static_cast<int>(a.size());
  comparison.runs_b = static_cast<int>(b.size());
  comparison.synthetic_a = is_synthetic(a);
  comparison.synthetic_b = is_synthetic(b);
  for (const ComparedRun* run : a)
    comparison.sources.push_back(source_of(*run, "A"));
  for (const ComparedRun* run : b)
    comparison.sources.push_back(source_of(*run, "B"));
  comparison.suspects = suspects(facts_of(a), facts_of(b), comparison.basis == Basis::baseline);
  comparison.cells = cells_of(a, b, comparison.basis);
  test_cells(comparison.cells, comparison.basis, a.front()->cells, b.front()->cells);
  if (comparison.basis == Basis::two_runs)
    for (CellComparison& one : comparison.cells)
      set_floors(one, *a.front(), *b.front());
  decide_cells(comparison);
  std::vector<const CellComparison*> all;
  for (const CellComparison& one : comparison.cells)
    all.push_back(&one);
  comparison.overall = mean_of(comparison, all, 1, comparison.request);
  comparison.conclusion = conclusion_of(comparison);
  return comparison;
}

// Of each value of a side: the geometric mean over cells that all have as many.
std::vector<double> means_over(const std::vector<const CellComparison*>& cells,
                               std::vector<double> CellComparison::*side) {
  std::vector<double> all;
  std::vector<double> of_cells;
  for (std::size_t i = 0; i < (cells.front()->*side).size(); ++i) {
    of_cells.clear();
    for (const CellComparison* cell : cells)
      of_cells.push_back((cell->*side)[i]);
    all.push_back(geometric_mean(of_cells));
  }
  return all;
}

} // namespace

int RunComparison::count(CellVerdict verdict) const {
  return static_cast<int>(std::ranges::count(cells, verdict, &CellComparison::verdict));
}

std::vector<const CellComparison*> RunComparison::beyond_the_difference() const {
  std::vector<const CellComparison*> beyond;
  for (const CellComparison& one : cells)
    if (one.verdict == CellVerdict::not_decided && one.adjusted_p &&
        (one.interval->low > 1 + request.difference ||
         one.interval->high < 1 / (1 + request.difference)))
      beyond.push_back(&one);
  std::ranges::stable_sort(beyond, std::greater{}, [](const CellComparison* one) {
    return std::abs(std::log(one->speed_ratio));
  });
  return beyond;
}

std::optional<int> RunComparison::repeats() const {
  if (conclusion != Conclusion::undecided)
    return std::nullopt;
  if (overall && overall->verdict == CellVerdict::not_decided)
    return overall->repeats;
  std::vector<const CellComparison*> open;
  if (overall)
    open = beyond_the_difference();
  else
    for (const CellComparison& one : cells)
      if (one.verdict == CellVerdict::not_decided)
        open.push_back(&one);
  std::optional<int> most;
  for (const CellComparison* one : open) {
    if (!one->repeats)
      return std::nullopt;
    most = std::max(most.value_or(0), *one->repeats);
  }
  return most;
}

RunComparison compare_runs(const ComparedRun& a, const ComparedRun& b, const Request& request) {
  return finished({.basis = Basis::two_runs, .request = request, .a = a.name, .b = b.name}, {&a},
                  {&b});
}

RunComparison compare_with_baseline(std::string name, const std::vector<ComparedRun>& baseline,
                                    const std::vector<ComparedRun>& runs, const Request& request) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs)
    names.push_back(run.name);
  return finished({.basis = Basis::baseline,
                   .request = request,
                   .a = std::move(name),
                   .b = fmt::format("{}", fmt::join(names, ", "))},
                  pointers_to(baseline), pointers_to(runs));
}

RunComparison compare_pairs(std::string a_name, const std::vector<ComparedRun>& a,
                            std::string b_name, const std::vector<ComparedRun>& b,
                            const Request& request) {
  return finished({.basis = Basis::interleaved,
                   .request = request,
                   .a = std::move(a_name),
                   .b = std::move(b_name)},
                  pointers_to(a), pointers_to(b));
}

std::optional<Decision> mean_of(const RunComparison& comparison,
                                const std::vector<const CellComparison*>& cells, std::size_t means,
                                const Request& request) {
  if (comparison.basis == Basis::two_runs)
    return std::nullopt;
  // The values of a cell that some runs lack do not belong to the same runs as those of the others.
  std::size_t most_a = 0, most_b = 0;
  for (const CellComparison* cell : cells) {
    most_a = std::max(most_a, cell->a_ns.size());
    most_b = std::max(most_b, cell->b_ns.size());
  }
  std::vector<const CellComparison*> whole;
  for (const CellComparison* cell : cells)
    if (!cell->a_ns.empty() && cell->a_ns.size() == most_a && cell->b_ns.size() == most_b)
      whole.push_back(cell);
  if (whole.empty())
    return std::nullopt;
  const auto a_ns = means_over(whole, &CellComparison::a_ns);
  const auto b_ns = means_over(whole, &CellComparison::b_ns);
  Decision one;
  one.speed_ratio = geometric_mean(a_ns) / geometric_mean(b_ns);
  // A single cell may have two speeds, so it keeps the tests with the scatter of others.
  if (whole.size() == 1) {
    one.tests = whole.front()->tests;
  } else {
    add_own_test(one, comparison.basis, a_ns, b_ns);
    add_own_test(one, comparison.basis, means_over(whole, &CellComparison::a_medians_ns),
                 means_over(whole, &CellComparison::b_medians_ns));
  }
  take_most_careful(one);
  const Reason lack = lack_of(*whole.front(), comparison.basis);
  if (lack != Reason::none || !one.p) {
    set_lack(one, lack == Reason::none ? Reason::too_few_runs : lack);
    return one;
  }
  one.adjusted_p = std::min(1.0, *one.p * static_cast<double>(means));
  decide(one, comparison.basis, a_ns.size(), b_ns.size(), means, request);
  return one;
}

} // namespace ncclprobe::analysis::compare
