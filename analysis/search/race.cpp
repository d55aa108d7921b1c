// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/race.h"

#include "analysis/search/sequential_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ncclprobe::analysis::search {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

double Race::Entrant::mean() const {
  return mean_of(values);
}

Race::Race(const std::vector<Candidate>& candidates) : entrants_(candidates.size()) {
  for (const Candidate& candidate : candidates)
    running_.push_back({candidate, {}});
}

void Race::add(const Candidate& candidate, double value) {
  for (Entrant& entrant : running_)
    if (entrant.candidate == candidate)
      entrant.values.push_back(value);
}

void Race::remove(const Candidate& candidate) {
  std::erase_if(running_, [&](const Entrant& one) { return one.candidate == candidate; });
}

std::optional<double> Race::pooled_variance() const {
  double squares = 0, degrees_of_freedom = 0;
  auto add = [&](const std::vector<double>& values) {
    if (values.size() < 2)
      return;
    const double mean = mean_of(values);
    for (double value : values)
      squares += (value - mean) * (value - mean);
    degrees_of_freedom += static_cast<double>(values.size()) - 1;
  };
  for (const Entrant& entrant : running_)
    add(entrant.values);
  for (const auto& values : values_of_left_)
    add(values);
  if (degrees_of_freedom < 2)
    return std::nullopt;
  return squares / degrees_of_freedom;
}

std::vector<Race::Left> Race::stop_losers() {
  std::vector<Left> left;
  const auto variance = pooled_variance();
  if (!variance)
    return left;
  auto half_width = [&](const Entrant& one) {
    return sequence_half_width(static_cast<int>(one.values.size()), *variance,
                               k_alpha / static_cast<double>(entrants_));
  };
  double lowest_upper = 0; // the default's
  for (const Entrant& one : running_)
    if (!one.values.empty())
      lowest_upper = std::min(lowest_upper, one.mean() + half_width(one));
  std::erase_if(running_, [&](const Entrant& one) {
    if (one.values.empty() || one.mean() - half_width(one) <= lowest_upper)
      return false;
    left.push_back({one, lowest_upper});
    values_of_left_.push_back(one.values);
    return true;
  });
  return left;
}

std::vector<Race::Left> Race::keep(std::size_t count) {
  std::vector<Left> left;
  if (running_.size() <= count)
    return left;
  std::vector<Entrant> all = ranked();
  running_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = count; i < all.size(); ++i) {
    left.push_back(
        {all[i], running_.empty() || running_.back().values.empty() ? 0 : running_.back().mean()});
    values_of_left_.push_back(all[i].values);
  }
  return left;
}

std::vector<Race::Entrant> Race::ranked() const {
  std::vector<Entrant> all = running_;
  std::ranges::stable_sort(all, {}, [](const Entrant& one) {
    return one.values.empty() ? std::numeric_limits<double>::infinity() : one.mean();
  });
  return all;
}

} // namespace ncclprobe::analysis::search
