// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/path_judge.h"

#include "analysis/search/sequential_test.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ncclprobe::analysis::fleet {
namespace {

using search::sequence_half_width;

// Meetings of good nodes that a trial needs to have a centre of its own.
constexpr std::size_t k_least_controls = 5;
// Values that must be left when the slowest group is left out.
constexpr int k_least_to_acquit = 3;
constexpr int k_least_to_accuse = 2;
// A node whose own values scatter this many times as much as others is judged by its own scatter.
constexpr double k_unsteady = 4;
// Times and clocks are not exact: no noise is less.
constexpr double k_least_noise = 0.003;
constexpr double k_normal_mad = 1.4826; // standard deviation over median deviation
// Of a median deviation, in values of a standard deviation that is as good.
constexpr double k_mad_efficiency = 0.37;
constexpr double k_shown_alpha = 1 - k_confidence;
constexpr int k_most_passes = 8;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  return squares / (static_cast<double>(values.size()) - 1);
}

// By how much an estimated standard deviation must grow to be too small in one of 20 cases only:
// the 5% quantile of chi-squared, by Wilson and Hilferty's cube root.
double enlargement_of(double degrees_of_freedom) {
  constexpr double k_z = 1.645;
  const double spread = 2 / (9 * degrees_of_freedom);
  constexpr double k_least_root = 0.158; // of one degree of freedom, where the formula fails
  const double root = std::max(k_least_root, 1 - spread - k_z * std::sqrt(spread));
  return 1 / std::sqrt(root * root * root);
}

// Expected largest of n standard normal values, by Blom's formula at its end: an upper bound of
// its mean for the n that occur here.
double expected_largest(int n) {
  return std::sqrt(2 * std::log(static_cast<double>(n)));
}

// Without all that the group of the largest value contributed. A bad partner, a bad link or a
// disturbance must not decide.
template <typename Seen>
std::vector<double> without_worst(const std::vector<Seen>& seen) {
  std::vector<double> rest;
  if (seen.empty())
    return rest;
  const Group& worst = *std::ranges::max_element(seen, {}, &Seen::slowness)->group;
  for (const Seen& one : seen)
    if (*one.group != worst)
      rest.push_back(one.slowness);
  return rest;
}

template <typename Seen>
std::vector<double> all_of(const std::vector<Seen>& seen) {
  std::vector<double> values;
  for (const Seen& one : seen)
    values.push_back(one.slowness);
  return values;
}

} // namespace

PathJudge::PathJudge(const CheckOptions& options, PathInput input)
    : options_(options), out_(std::move(input.out)), values_(std::move(input.values)),
      earlier_(std::move(input.earlier)), alpha_(input.alpha),
      values_of_(static_cast<std::size_t>(options.nodes)),
      standing_(static_cast<std::size_t>(options.nodes), Standing::undecided) {
  for (std::size_t i = 0; i < values_.size(); ++i)
    for (int node : *values_[i].nodes)
      if (informs(values_[i], node))
        values_of_[static_cast<std::size_t>(node)].push_back(static_cast<int>(i));
  if (values_.empty())
    return;
  centre();
  measure_noise();
  decide();
}

// Of each node with a value: the lower one if there are two in the middle. A group is as slow as
// its slowest member, so the lower values say more about this one.
std::vector<double> PathJudge::lower_medians() const {
  std::vector<double> medians(values_of_.size(), NAN);
  std::vector<double> own;
  for (std::size_t node = 0; node < values_of_.size(); ++node) {
    own.clear();
    for (int value : values_of_[node])
      own.push_back(values_[static_cast<std::size_t>(value)].slowness);
    if (own.empty())
      continue;
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>((own.size() - 1) / 2);
    std::ranges::nth_element(own, middle);
    medians[node] = *middle;
  }
  return medians;
}

// Less than half of the nodes may be bad. The median over nodes allows that; a median over groups
// would allow 29% only, because one bad node makes its whole group slow.
void PathJudge::centre() {
  const std::vector<double> medians = lower_medians();
  std::vector<double> known;
  std::ranges::copy_if(medians, std::back_inserter(known),
                       [](double one) { return !std::isnan(one); });
  centre_ = median(known);
  for (Value& one : values_)
    one.slowness -= centre_;
  std::vector<bool> is_control;
  for (const Value& one : values_)
    is_control.push_back(std::ranges::all_of(*one.nodes, [&](int node) {
      return medians[static_cast<std::size_t>(node)] - centre_ < tolerated_shift(options_);
    }));
  recentre(is_control);
}

// Around groups that look good: in each trial, if it has enough of them, because all that runs at
// the same time drifts alike; otherwise over all trials.
void PathJudge::recentre(const std::vector<bool>& is_control) {
  std::map<int, std::vector<double>> by_trial;
  std::vector<double> all;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (is_control[i]) {
      by_trial[values_[i].trial].push_back(values_[i].slowness);
      all.push_back(values_[i].slowness);
    }
  controls_ = static_cast<int>(all.size());
  if (all.empty())
    return;
  const double whole = median(all);
  centre_ += whole;
  std::map<int, double> shift;
  for (auto& [trial, controls] : by_trial)
    shift[trial] = controls.size() < k_least_controls ? whole : median(std::move(controls));
  for (Value& one : values_) {
    auto found = shift.find(one.trial);
    one.slowness -= found == shift.end() ? whole : found->second;
  }
}

// From the lower half alone: what is slow lies in the upper one. Half of what lies in the middle
// belongs to it: times that hardly scatter are often equal.
void PathJudge::measure_noise() {
  std::vector<double> below;
  std::size_t middle = 0;
  for (const Value& one : values_)
    if (one.slowness < 0)
      below.push_back(-one.slowness);
    else if (one.slowness == 0)
      ++middle;
  below.insert(below.end(), middle / 2, 0.0);
  const double count =
      below.empty() ? static_cast<double>(values_.size()) / 2 : static_cast<double>(below.size());
  const double seen = below.empty() ? 0 : k_normal_mad * median(std::move(below));
  noise_ = std::max(k_least_noise, seen) * enlargement_of(std::max(1.0, k_mad_efficiency * count));
}

bool PathJudge::others_are(const Value& value, int node, Standing standing) const {
  return std::ranges::all_of(*value.nodes, [&](int other) {
    return other == node || standing_[static_cast<std::size_t>(other)] == standing;
  });
}

std::vector<PathJudge::Seen> PathJudge::seen_by(int node, Partners partners) const {
  std::vector<Seen> seen;
  for (int index : values_of_[static_cast<std::size_t>(node)]) {
    const Value& one = values_[static_cast<std::size_t>(index)];
    const bool counts =
        partners == Partners::proven
            ? others_are(one, node, Standing::good)
            : std::ranges::none_of(*one.nodes, [&](int other) {
                return other != node &&
                       (out_[static_cast<std::size_t>(other)] ||
                        standing_[static_cast<std::size_t>(other)] == Standing::bad);
              });
    if (!counts)
      continue;
    seen.push_back({one.slowness, one.nodes});
  }
  return seen;
}

double PathJudge::share_of_alpha(double tests) const {
  return alpha_ / (std::max(1.0, tests) * options_.paths());
}

PathInput::Earlier PathJudge::earlier_of(int node) const {
  return earlier_.empty() ? PathInput::Earlier{} : earlier_[static_cast<std::size_t>(node)];
}

// With a partner that was slower then, the group would not show that this node got slower.
bool PathJudge::informs(const Value& value, int node) const {
  return earlier_.empty() || earlier_of(node).slowness > value.expected - tolerated_shift(options_);
}

// Its upper limit is below what is bad. A group is at least as slow as each member, so any partner
// will do.
bool PathJudge::is_good(int node) const {
  const std::vector<Seen> seen = seen_by(node, Partners::not_bad);
  const double variance = noise_ * noise_, limit = bad_shift(options_) + earlier_of(node).doubt;
  const double beta = 1 - options_.power;
  auto below = [&](const std::vector<double>& values, double correction) {
    return mean_of(values) + correction +
               sequence_half_width(static_cast<int>(values.size()), variance, beta) <
           limit;
  };
  if (seen.empty())
    return false;
  if (below(all_of(seen), 0))
    return true;
  const std::vector<double> rest = without_worst(seen);
  const int count = static_cast<int>(rest.size());
  // Leaving out the largest of equal values makes the mean of the others this much too low.
  return count >= k_least_to_acquit && below(rest, noise_ * expected_largest(count + 1) / count);
}

// Its lower limit is beyond what is tolerated, with partners that are proven good, and without the
// group that speaks most against it.
bool PathJudge::is_bad(int node) const {
  const std::vector<double> rest = without_worst(seen_by(node, Partners::proven));
  const int count = static_cast<int>(rest.size());
  if (count < k_least_to_accuse)
    return false;
  double variance = noise_ * noise_;
  if (const double own = variance_of(rest); own > k_unsteady * variance)
    variance = own;
  return mean_of(rest) - sequence_half_width(count, variance, share_of_alpha(options_.nodes)) >
         tolerated_shift(options_) + earlier_of(node).doubt;
}

// Who is bad decides which meetings count for others, and who is good which partners are proven.
void PathJudge::decide() {
  for (int pass = 0; pass < k_most_passes; ++pass) {
    std::vector<Standing> next = standing_;
    for (int node = 0; node < options_.nodes; ++node) {
      const auto at = static_cast<std::size_t>(node);
      if (values_of_[at].empty())
        continue;
      next[at] = is_good(node)  ? Standing::good
                 : is_bad(node) ? Standing::bad
                                : Standing::undecided;
    }
    if (next == standing_)
      return;
    standing_ = std::move(next);
  }
}

SpeedEstimate PathJudge::estimate_of(const std::vector<Seen>& seen, double doubt) const {
  const std::vector<double> values = all_of(seen);
  double variance = noise_ * noise_;
  if (values.size() > 2)
    if (const double own = variance_of(values); own > k_unsteady * variance)
      variance = own;
  const double mean = mean_of(values);
  const double half = std::hypot(
      sequence_half_width(static_cast<int>(values.size()), variance, k_shown_alpha), doubt);
  const auto slow =
      std::ranges::count_if(values, [&](double one) { return one > tolerated_shift(options_); });
  return {std::exp(-mean),
          {std::exp(-mean - half), std::exp(-mean + half)},
          static_cast<int>(slow),
          static_cast<int>(values.size())};
}

std::optional<double> PathJudge::usual_ns() const {
  return values_.empty() ? std::nullopt : std::optional(std::exp(centre_));
}

double PathJudge::centre_error() const {
  return 1.2533 * noise_ / std::sqrt(std::max(1, controls_)); // of a median of normal values
}

PathVerdict PathJudge::verdict(int node) const {
  std::vector<Seen> seen = seen_by(node, Partners::proven);
  if (seen.empty())
    seen = seen_by(node, Partners::not_bad);
  PathVerdict verdict{standing_[static_cast<std::size_t>(node)], std::nullopt};
  if (!seen.empty())
    verdict.estimate = estimate_of(seen, earlier_of(node).shown_doubt);
  return verdict;
}

std::vector<GroupVerdict> PathJudge::groups() const {
  std::map<Group, std::vector<Seen>> by_group;
  for (const Value& one : values_)
    if (others_are(one, -1, Standing::good))
      by_group[*one.nodes].push_back({one.slowness, one.nodes});
  const auto tests = static_cast<double>(by_group.size());
  // The largest of so many good ones is expected below.
  const double suspect =
      tolerated_shift(options_) + noise_ * expected_largest(static_cast<int>(tests) + 1);
  const double variance = noise_ * noise_;
  std::vector<GroupVerdict> groups;
  for (const auto& [nodes, seen] : by_group) {
    std::vector<double> values = all_of(seen);
    std::ranges::sort(values);
    if (values.back() <= suspect)
      continue;
    GroupVerdict group{nodes, std::nullopt, Standing::undecided, estimate_of(seen, 0)};
    values.pop_back();
    const int count = static_cast<int>(values.size());
    if (count >= k_least_to_accuse) {
      const double mean = mean_of(values);
      if (mean - sequence_half_width(count, variance, share_of_alpha(tests)) >
          tolerated_shift(options_))
        group.standing = Standing::bad;
      else if (mean + sequence_half_width(count, variance, 1 - options_.power) <
               bad_shift(options_))
        continue;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

} // namespace ncclprobe::analysis::fleet
