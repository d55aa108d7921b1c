// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/recurring_lateness.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr double k_chance = 0.01;
constexpr double k_share = 0.75;
constexpr std::size_t k_longest_period = 512;
constexpr std::size_t k_most_steps = 16'384; // for the search of periods

constexpr double k_far_apart = 3; // times as late as any other
constexpr double k_far_more = 2;  // times as late as the others in the middle
constexpr std::size_t k_fewest_late = 3;
constexpr std::size_t k_usual = 4;  // an event in more than one of this many steps is usual
constexpr double k_floor_ns = 1000; // smaller values do not matter

double log_factorial(std::size_t n) {
  return std::lgamma(static_cast<double>(n) + 1);
}

double log_choose(std::size_t n, std::size_t k) {
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// Probability that, if `drawn` of `all` steps are the greatest, this many random steps include
// `hits` or more of them.
double chance_of_hits(std::size_t all, std::size_t drawn, std::size_t hits) {
  double sum = 0;
  for (std::size_t i = hits; i <= drawn; ++i)
    if (drawn - i <= all - drawn)
      sum += std::exp(log_choose(drawn, i) + log_choose(all - drawn, drawn - i) -
                      log_choose(all, drawn));
  return sum;
}

// Probability that random steps rank as high together (Mann and Whitney, normal approximation,
// which is conservative far out).
double chance_of_ranks(std::size_t all, const std::vector<std::size_t>& ranks) {
  const auto drawn = static_cast<double>(ranks.size());
  const auto others = static_cast<double>(all) - drawn;
  double above = drawn * others + drawn * (drawn - 1) / 2; // pairs with others that rank lower
  for (std::size_t rank : ranks)
    above -= static_cast<double>(rank);
  const double deviation = std::sqrt(drawn * others * (drawn + others + 1) / 12);
  return std::erfc((above - drawn * others / 2) / deviation / std::sqrt(2.0)) / 2;
}

Aligned median_of(const std::vector<LatenessOfStep>& steps, const std::vector<std::size_t>& those) {
  std::vector<double> values, errors;
  for (std::size_t i : those) {
    values.push_back(steps[i].value_ns);
    errors.push_back(steps[i].error_ns);
  }
  return quantile_of(values, errors, 0.5);
}

// The smallest value of the upper of two groups, where the ratio of a value to the next smaller is
// greatest. Nothing if it is one group.
std::optional<double> upper_group(const std::vector<LatenessOfStep>& steps) {
  std::vector<double> values, errors;
  for (const LatenessOfStep& step : steps) {
    values.push_back(step.value_ns);
    if (step.value_ns > 0)
      errors.push_back(step.error_ns);
  }
  std::ranges::sort(values, std::ranges::greater{});
  const double floor_ns = std::max(k_floor_ns, 2 * median(std::move(errors)));
  double most = k_far_apart;
  std::optional<double> least_ns;
  for (std::size_t late = k_fewest_late; k_usual * late <= values.size(); ++late)
    if (const double ratio = values[late - 1] / std::max(floor_ns, values[late]); ratio >= most) {
      most = ratio;
      least_ns = values[late - 1];
    }
  return least_ns;
}

// 0 for the greatest value, 1 for the next; all zeros share the middle of their ranks.
std::vector<std::size_t> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return values[i]; });
  const auto positive = static_cast<std::size_t>(
      std::ranges::count_if(values, [](double value) { return value > 0; }));
  for (std::size_t i = 0; i < order.size(); ++i)
    ranks[order[i]] = i < positive ? i : (positive + values.size()) / 2;
  return ranks;
}

// The threshold that best separates the steps of the recurrence from the others.
double least_late(const std::vector<double>& values, const Recurrence& recurrence) {
  auto recurs = [&](std::size_t i) { return i % recurrence.every == recurrence.first; };
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return values[i]; });
  double special = 0, others = 0;
  for (std::size_t i : order)
    ++(recurs(i) ? special : others);
  double with = 0, wrongly = 0, best = -1, least = 0;
  for (std::size_t i : order) {
    ++(recurs(i) ? with : wrongly);
    if (values[i] > 0 && with / special - wrongly / others > best) {
      best = with / special - wrongly / others;
      least = values[i];
    }
  }
  return least;
}

} // namespace

std::optional<Recurrence> find_recurrence(const std::vector<double>& values) {
  const std::size_t all = std::min(values.size(), k_most_steps);
  const std::vector<std::size_t> ranks =
      ranks_of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(all)});
  const std::size_t longest = std::min(k_longest_period, all / k_fewest_late);
  double tried = 0;
  for (std::size_t every = 2; every <= longest; ++every)
    tried += 2 * static_cast<double>(every); // in two ways
  std::optional<Recurrence> best;
  double least = k_chance;
  std::vector<std::size_t> own;
  for (std::size_t every = 2; every <= longest; ++every)
    for (std::size_t first = 0; first < every; ++first) {
      own.clear();
      for (std::size_t i = first; i < all; i += every)
        own.push_back(ranks[i]);
      const auto hits = static_cast<std::size_t>(
          std::ranges::count_if(own, [&](std::size_t rank) { return rank < own.size(); }));
      if (hits < k_fewest_late ||
          static_cast<double>(hits) < k_share * static_cast<double>(own.size()))
        continue;
      const double by_chance =
          tried * std::min(chance_of_hits(all, own.size(), hits), chance_of_ranks(all, own));
      if (by_chance < least) {
        least = by_chance;
        best = Recurrence{every, first, own.size(), hits};
      }
    }
  return best;
}

std::optional<RecurringLateness> recurring_lateness(const std::vector<LatenessOfStep>& steps) {
  std::vector<std::size_t> last;
  std::vector<double> values;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    values.push_back(steps[i].value_ns);
    if (steps[i].value_ns > 0)
      last.push_back(i);
  }
  if (last.empty())
    return std::nullopt;
  RecurringLateness out{.steps = steps.size(), .last = last.size()};
  out.when_last = median_of(steps, last);
  // Late steps are all as late as those that recur, else the upper of two groups.
  auto split = [&](double least_ns) {
    std::vector<std::size_t> late, others;
    for (std::size_t i = 0; i < steps.size(); ++i)
      (values[i] >= least_ns ? late : others).push_back(i);
    out.late = late.size();
    out.when_late = median_of(steps, late);
    out.else_ns = others.empty() ? 0 : median_of(steps, others).value_ns;
  };
  if (auto recurrence = find_recurrence(values)) {
    const double least_ns = least_late(values, *recurrence);
    split(least_ns);
    recurrence->steps = recurrence->late = 0;
    for (std::size_t i = recurrence->first; i < values.size(); i += recurrence->every) {
      ++recurrence->steps;
      recurrence->late += values[i] >= least_ns;
    }
    if (out.when_late.value_ns >= k_far_more * out.else_ns) {
      out.recurrence = recurrence;
      return out;
    }
    out.late = 0;
  }
  if (const auto least_ns = upper_group(steps))
    split(*least_ns);
  return out;
}

} // namespace ncclprobe::analysis::timeline
