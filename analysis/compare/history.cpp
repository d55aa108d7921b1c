// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/history.h"

#include "analysis/compare/baseline.h"
#include "analysis/statistics/statistics.h"
#include "analysis/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace ncclprobe::analysis::compare {
namespace {

constexpr std::size_t k_least_part = 2;

struct Stretch {
  std::size_t first = 0, last = 0; // of the values; `last` is the first behind it
  double gain = 0;                 // how much of the sum of squares the two means explain
};

// Fewer values have so few orders that the best stretch of any length and place could never be rare
// enough. There the stretch begins with the first value: of ten equal values, 2 of the 252 ways to
// choose five of them have them all at an end, but 10 have them beside each other in a circle.
constexpr std::size_t k_least_for_any_stretch = 14;

// A stretch, or what it leaves on a side, has k_least_part values or none.
Stretch most_different(const std::vector<double>& values) {
  const std::size_t count = values.size();
  std::vector<double> sums(count + 1); // of the values before
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  const auto all = static_cast<double>(count);
  Stretch best;
  const std::size_t firsts = count < k_least_for_any_stretch ? 1 : count - k_least_part + 1;
  for (std::size_t first = 0; first < firsts; first += first == 0 ? k_least_part : 1)
    for (std::size_t last = first + k_least_part; last <= count; ++last) {
      if ((last < count && last + k_least_part > count) || (first == 0 && last == count))
        continue;
      const double sum = sums[last] - sums[first];
      const auto inside = static_cast<double>(last - first);
      const double apart = sum / inside - (sums[count] - sum) / (all - inside);
      const double gain = apart * apart * inside * (all - inside) / all;
      if (gain > best.gain)
        best = {first, last, gain};
    }
  return best;
}

// std::shuffle differs between libraries; this does not.
void shuffle(std::vector<double>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random() % i]);
}

// How likely a random order has a stretch as different. Stops once it is clearly above alpha.
double p_of(const Stretch& stretch, std::vector<double> values, double alpha,
            std::mt19937_64& random) {
  // The p of a change in a short series is close to alpha. 19,999 orders were too few: they gave
  // 1.0% for the 0.8% of five values that are all above five others.
  const double least = values.size() < k_least_for_any_stretch ? 199'999 : 1999;
  const auto orders = static_cast<std::size_t>(std::max(least, std::ceil(20 / alpha)));
  const double enough = 5 + 2 * alpha * static_cast<double>(orders);
  std::size_t as_good = 0, tried = 0;
  while (tried < orders && static_cast<double>(as_good) < enough) {
    shuffle(values, random);
    // Equal values in another order give sums that differ by rounding alone.
    as_good += most_different(values).gain >= stretch.gain * (1 - 1e-9);
    ++tried;
  }
  return static_cast<double>(as_good + 1) / static_cast<double>(tried + 1);
}

void search(const std::vector<double>& logs, std::size_t first, std::size_t last, double alpha,
            std::mt19937_64& random, std::vector<Change>& changes) {
  if (last - first < k_least_history || alpha <= 0)
    return;
  const std::vector<double> values(logs.begin() + static_cast<std::ptrdiff_t>(first),
                                   logs.begin() + static_cast<std::ptrdiff_t>(last));
  const Stretch stretch = most_different(values);
  if (stretch.gain <= 0)
    return;
  const double p = p_of(stretch, values, alpha, random);
  if (p >= alpha)
    return;
  std::size_t from = first;
  for (std::size_t at : {first + stretch.first, first + stretch.last}) {
    if (at == first || at == last)
      continue;
    search(logs, from, at, alpha, random, changes);
    changes.push_back({.first_after = at, .p = p});
    from = at;
  }
  search(logs, from, last, alpha, random, changes);
}

std::vector<double> part(const std::vector<double>& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(last)};
}

HistorySeries series_of(const std::vector<ComparedRun>& runs, const CellKey& key) {
  HistorySeries series;
  series.cell = key;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunCell* cell = runs[i].cell(key);
    if (!cell || cell->data == DataState::wrong || cell->times_ns.empty() ||
        std::ranges::any_of(cell->times_ns, [](double time_ns) { return !(time_ns > 0); }))
      continue;
    series.runs.push_back(i);
    series.times_ns.push_back(median(cell->times_ns));
  }
  return series;
}

// Over the cells that all runs have. Empty if there is none.
HistorySeries mean_series(const std::vector<HistorySeries>& cells, std::size_t runs) {
  HistorySeries mean;
  std::vector<double> of_run;
  for (std::size_t i = 0; i < runs; ++i) {
    of_run.clear();
    for (const HistorySeries& one : cells)
      if (one.runs.size() == runs)
        of_run.push_back(one.times_ns[i]);
    if (of_run.empty())
      return mean;
    mean.runs.push_back(i);
    mean.times_ns.push_back(geometric_mean(of_run));
  }
  return mean;
}

bool is_alike(const ComparedRun& a, const ComparedRun& b) {
  return std::ranges::none_of(suspects(a.facts, b.facts), [](const Suspect& one) {
    return std::ranges::count(baseline_key(), one.kind) > 0;
  });
}

} // namespace

std::vector<Change> changes_in(const std::vector<double>& times_ns, double alpha,
                               std::uint64_t seed) {
  std::vector<double> logs;
  for (double time_ns : times_ns)
    logs.push_back(std::log(time_ns));
  std::mt19937_64 random(seed);
  std::vector<Change> changes;
  search(logs, 0, logs.size(), alpha, random, changes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : changes[i - 1].first_after;
    const std::size_t last = i + 1 < changes.size() ? changes[i + 1].first_after : logs.size();
    const auto before = part(times_ns, first, changes[i].first_after);
    const auto after = part(times_ns, changes[i].first_after, last);
    changes[i].speed_ratio = geometric_mean(before) / geometric_mean(after);
    if (const auto test = welch_ratio(before, after, k_confidence))
      changes[i].interval = test->interval;
  }
  return changes;
}

History history_of(std::vector<ComparedRun> runs, std::uint64_t seed) {
  History history;
  std::ranges::stable_sort(runs, {}, &ComparedRun::started_utc);
  const std::size_t all = runs.size();
  if (!runs.empty()) {
    const ComparedRun last = runs.back();
    std::erase_if(runs, [&](const ComparedRun& one) { return !is_alike(one, last); });
  }
  history.other_runs = all - runs.size();
  std::set<CellKey> keys;
  for (const ComparedRun& run : runs)
    for (const RunCell& cell : run.cells)
      keys.insert(cell.key);
  std::vector<HistorySeries> cells;
  for (const CellKey& key : keys)
    cells.push_back(series_of(runs, key));
  HistorySeries mean = mean_series(cells, runs.size());
  const bool is_short = runs.size() < k_least_for_any_stretch;
  mean.alpha = is_short ? k_alpha : k_alpha / 2;
  for (HistorySeries& one : cells)
    one.alpha = is_short ? 0 : k_alpha / 2 / static_cast<double>(cells.size());
  if (!mean.runs.empty())
    history.series.push_back(std::move(mean));
  std::ranges::move(cells, std::back_inserter(history.series));
  for (HistorySeries& one : history.series)
    one.changes = changes_in(one.times_ns, one.alpha, seed++);
  history.runs = std::move(runs);
  return history;
}

} // namespace ncclprobe::analysis::compare
