// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/loggp.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::cost_model {
namespace {

// A size that was measured both ways.
struct Pair {
  Point batch;
  std::vector<double> single_ns;
};

bool is_alike(const Point& a, const Point& b) {
  return std::tie(a.collective, a.ranks, a.algorithm, a.protocol) ==
         std::tie(b.collective, b.ranks, b.algorithm, b.protocol);
}

std::optional<LogGp> model_of(const std::vector<Pair>& pairs) {
  std::vector<std::vector<double>> features;
  std::vector<double> times_ns;
  std::set<std::uint64_t> sizes;
  for (const Pair& pair : pairs) {
    const double further_bytes = static_cast<double>(pair.batch.bytes) - 1;
    features.push_back({0, 1, further_bytes});
    times_ns.push_back(pair.batch.time_ns);
    for (double time_ns : pair.single_ns) {
      features.push_back({1, 0, further_bytes});
      times_ns.push_back(time_ns);
    }
    sizes.insert(pair.batch.bytes);
  }
  if (sizes.size() < 2)
    return std::nullopt;
  auto fit = fit_times(features, times_ns);
  if (!fit)
    return std::nullopt;
  const Point& one = pairs.front().batch;
  return LogGp{one.collective, one.ranks,       one.algorithm,  one.protocol,
               *sizes.begin(), *sizes.rbegin(), std::move(*fit)};
}

} // namespace

std::vector<LogGp> loggp_models(const std::vector<Point>& batches,
                                const std::vector<Point>& single) {
  std::vector<Pair> pairs;
  for (const Point& batch : batches) {
    Pair pair{batch, {}};
    for (const Point& one : single)
      if (one.bytes == batch.bytes && is_alike(one, batch))
        pair.single_ns.push_back(one.time_ns);
    if (!pair.single_ns.empty())
      pairs.push_back(std::move(pair));
  }
  std::vector<LogGp> models;
  for (auto first = pairs.begin(); first != pairs.end();) {
    auto last = std::find_if(first, pairs.end(),
                             [&](const Pair& pair) { return !is_alike(pair.batch, first->batch); });
    if (auto model = model_of({first, last}))
      models.push_back(std::move(*model));
    first = last;
  }
  return models;
}

} // namespace ncclprobe::analysis::cost_model
