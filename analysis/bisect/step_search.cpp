// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/bisect/step_search.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

constexpr double k_error = 0.005;        // chance of each wrong decision
constexpr std::size_t k_first_pairs = 8; // of the last version: they also estimate its slowdown
constexpr std::size_t k_least_pairs = 4;
constexpr std::size_t k_most_pairs = 96;
constexpr double k_least_deviation = 1e-4; // pairs that agree exactly prove nothing

double mean_log(const StepComparison& comparison) {
  double sum = 0;
  for (const double ratio : comparison.ratios)
    sum += std::log(ratio);
  return sum / static_cast<double>(comparison.ratios.size());
}

} // namespace

StepSearch::StepSearch(std::size_t versions, double least)
    : least_(std::log1p(least)), bad_(versions - 1) {
  comparisons_.push_back({bad_, {}, StepAnswer::open});
}

std::optional<std::size_t> StepSearch::next() const {
  return ended_ ? std::nullopt : std::optional(comparisons_.back().version);
}

std::size_t StepSearch::least_pairs() const {
  return found_ ? k_least_pairs : k_first_pairs;
}

std::size_t StepSearch::pairs() const {
  const std::size_t had = comparisons_.back().ratios.size();
  if (had == 0)
    return 1;
  return had < least_pairs() ? least_pairs() - had : least_pairs();
}

double StepSearch::variance() const {
  double squares = 0, degrees = 0;
  for (const StepComparison& one : comparisons_) {
    if (one.ratios.size() < 2)
      continue;
    const double mean = mean_log(one);
    for (const double ratio : one.ratios)
      squares += (std::log(ratio) - mean) * (std::log(ratio) - mean);
    degrees += static_cast<double>(one.ratios.size() - 1);
  }
  return std::max(degrees > 0 ? squares / degrees : 0, k_least_deviation * k_least_deviation);
}

StepAnswer StepSearch::decide(const StepComparison& comparison) const {
  if (comparison.ratios.size() < least_pairs())
    return StepAnswer::open;
  const double step = step_.value_or(least_);
  const double mean = mean_log(comparison);
  const double evidence = static_cast<double>(comparison.ratios.size()) * step * (mean - step / 2) /
                          variance(); // log of the ratio of likelihoods
  const double enough = std::log((1 - k_error) / k_error);
  if (evidence >= enough)
    return StepAnswer::slower;
  if (evidence <= -enough)
    return StepAnswer::same;
  return StepAnswer::open;
}

void StepSearch::add(const std::vector<double>& ratios) {
  StepComparison& comparison = comparisons_.back();
  comparison.ratios.insert(comparison.ratios.end(), ratios.begin(), ratios.end());
  const bool seeks_failure = found_ && !step_; // the last version fails: others need no times
  const StepAnswer answer = !seeks_failure                              ? decide(comparison)
                            : comparison.ratios.size() >= least_pairs() ? StepAnswer::same
                                                                        : StepAnswer::open;
  if (answer != StepAnswer::open)
    close(answer);
  else if (comparison.ratios.size() >= k_most_pairs)
    ended_ = true;
}

void StepSearch::add_failure() {
  close(StepAnswer::failed);
}

void StepSearch::close(StepAnswer answer) {
  comparisons_.back().answer = answer;
  const std::size_t version = comparisons_.back().version;
  if (!found_) { // of the last version
    found_ = answer != StepAnswer::same;
    if (answer == StepAnswer::slower)
      step_ = mean_log(comparisons_.back());
  } else {
    (answer == StepAnswer::same ? good_ : bad_) = version;
  }
  ended_ = !found_ || bad_ - good_ == 1;
  if (!ended_)
    comparisons_.push_back({good_ + (bad_ - good_) / 2, {}, StepAnswer::open});
}

std::optional<std::size_t> StepSearch::first_bad() const {
  return ended_ && found_ && bad_ - good_ == 1 ? std::optional(bad_) : std::nullopt;
}

std::optional<std::pair<std::size_t, std::size_t>> StepSearch::narrowed_to() const {
  return found_ ? std::optional(std::pair(good_, bad_)) : std::nullopt;
}

} // namespace ncclprobe::analysis
