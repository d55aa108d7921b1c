// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/loggp.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::cost_model {
namespace {

// Relative to the gap: timer and scatter keep a host that sets the pace slightly below it.
constexpr double k_bound_share = 0.9;

// A size that was measured both ways.
struct Pair {
  Point batch;
  std::vector<Point> single;
};

bool is_alike(const Point& a, const Point& b) {
  // Unknown for some sizes of a number of ranks: then nothing distinguishes them.
  if (a.algorithm.empty() || b.algorithm.empty())
    return std::tie(a.collective, a.ranks) == std::tie(b.collective, b.ranks);
  return std::tie(a.collective, a.ranks, a.algorithm, a.protocol) ==
         std::tie(b.collective, b.ranks, b.algorithm, b.protocol);
}

std::optional<double> overhead_ns(const std::vector<Pair>& pairs) {
  std::vector<double> shortest_ns;
  for (const Pair& pair : pairs) {
    std::optional<double> shortest = pair.batch.launch_ns;
    for (const Point& one : pair.single)
      if (one.launch_ns && (!shortest || *one.launch_ns < *shortest))
        shortest = one.launch_ns;
    if (shortest)
      shortest_ns.push_back(*shortest);
  }
  if (shortest_ns.empty())
    return std::nullopt;
  return median(std::move(shortest_ns));
}

std::optional<LogGp> loggp_of(const std::vector<Pair>& pairs) {
  std::vector<std::vector<double>> features;
  std::vector<double> times_ns;
  std::set<std::uint64_t> sizes;
  for (const Pair& pair : pairs) {
    const double further_bytes = static_cast<double>(pair.batch.bytes) - 1;
    features.push_back({0, 1, further_bytes});
    times_ns.push_back(pair.batch.time_ns);
    for (const Point& one : pair.single) {
      features.push_back({1, 0, further_bytes});
      times_ns.push_back(one.time_ns);
    }
    sizes.insert(pair.batch.bytes);
  }
  if (sizes.size() < 2)
    return std::nullopt;
  auto fit = fit_times(features, times_ns);
  if (!fit)
    return std::nullopt;
  const Point& one = pairs.front().batch;
  return LogGp{one.collective, one.ranks,       one.algorithm,   one.protocol,
               *sizes.begin(), *sizes.rbegin(), std::move(*fit), overhead_ns(pairs)};
}

} // namespace

std::optional<bool> LogGp::is_bound_by_host() const {
  if (!overhead_ns)
    return std::nullopt;
  return *overhead_ns >= k_bound_share * gap_ns();
}

std::vector<LogGp> loggp_models(const std::vector<Point>& batches,
                                const std::vector<Point>& single) {
  std::vector<Pair> pairs;
  const std::vector<Point> known_single = with_nearest_algorithms(single);
  for (const Point& batch : with_nearest_algorithms(batches)) {
    Pair pair{batch, {}};
    for (const Point& one : known_single)
      if (one.bytes == batch.bytes && is_alike(one, batch))
        pair.single.push_back(one);
    if (!pair.single.empty())
      pairs.push_back(std::move(pair));
  }
  std::vector<LogGp> models;
  for (auto first = pairs.begin(); first != pairs.end();) {
    auto last = std::find_if(first, pairs.end(),
                             [&](const Pair& pair) { return !is_alike(pair.batch, first->batch); });
    if (auto model = loggp_of({first, last}))
      models.push_back(std::move(*model));
    first = last;
  }
  return models;
}

} // namespace ncclprobe::analysis::cost_model
