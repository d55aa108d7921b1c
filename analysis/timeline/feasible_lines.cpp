// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/feasible_lines.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::timeline {
namespace {

// Far below a clock's tick, far above rounding errors of doubles.
constexpr double k_rounding_ns = 1e-3;

double rate_of(const LinePoint& from, const LinePoint& to) {
  return (to.y - from.y) / (to.x - from.x);
}

} // namespace

std::vector<LinePoint> mirrored(std::vector<LinePoint> points) {
  for (LinePoint& point : points) {
    point.x = -point.x;
    point.y = -point.y;
  }
  return points;
}

UpperHull::UpperHull(std::vector<LinePoint> points) {
  auto before = [](const LinePoint& a, const LinePoint& b) {
    return a.x != b.x ? a.x < b.x : a.y > b.y;
  };
  if (!std::ranges::is_sorted(points, before))
    std::ranges::stable_sort(points, before);
  for (const LinePoint& point : points) {
    if (!corners_.empty() && corners_.back().x == point.x)
      continue; // below that one
    while (corners_.size() >= 2 && rate_of(corners_[corners_.size() - 2], corners_.back()) <=
                                       rate_of(corners_.back(), point))
      corners_.pop_back();
    corners_.push_back(point);
  }
}

const LinePoint& UpperHull::touched(double rate) const {
  std::size_t first = 0;
  std::size_t count = corners_.size() - 1; // edges, which fall
  while (count > 0) {
    const std::size_t half = count / 2;
    if (rate_of(corners_[first + half], corners_[first + half + 1]) > rate) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return corners_[first];
}

double UpperHull::least_intercept(double rate) const {
  const LinePoint& corner = touched(rate);
  return corner.y - rate * corner.x;
}

std::vector<double> UpperHull::edges() const {
  std::vector<double> rates;
  for (std::size_t i = 1; i < corners_.size(); ++i)
    rates.push_back(rate_of(corners_[i - 1], corners_[i]));
  return rates;
}

FeasibleLines::FeasibleLines(std::vector<LinePoint> lower, std::vector<LinePoint> upper,
                             double most_rate)
    : lower_(std::move(lower)), upper_(mirrored(std::move(upper))) {
  // The gap is straight between these rates.
  std::vector<double> rates{-most_rate, most_rate};
  for (const UpperHull* hull : {&lower_, &upper_})
    for (double rate : hull->edges())
      if (std::abs(rate) < most_rate)
        rates.push_back(rate);
  std::ranges::sort(rates);
  const auto best = std::ranges::min_element(rates, {}, [this](double rate) { return gap(rate); });
  best_rate_ = *best;
  if (const double least = gap(best_rate_); least > k_rounding_ns)
    lacking_ = least / 2;
  find_corners(rates, static_cast<std::size_t>(best - rates.begin()));

  auto add_knots = [this](double rate) {
    knots_.push_back(lower_.touched(rate).x);
    knots_.push_back(-upper_.touched(rate).x);
  };
  if (corners_.size() == 1)
    add_knots(corners_.front().rate);
  for (std::size_t i = 1; i < corners_.size(); ++i)
    add_knots((corners_[i - 1].rate + corners_[i].rate) / 2);
  std::ranges::sort(knots_);
  knots_.erase(std::unique(knots_.begin(), knots_.end()), knots_.end());
}

double FeasibleLines::gap(double rate) const {
  return lower_.least_intercept(rate) + upper_.least_intercept(rate);
}

void FeasibleLines::find_corners(const std::vector<double>& rates, std::size_t best) {
  const double allowed = std::max(2 * lacking_, gap(best_rate_));
  auto add = [this](double rate) {
    Corner corner{rate, lower_.least_intercept(rate) - lacking_,
                  lacking_ - upper_.least_intercept(rate)};
    if (corner.low > corner.high) // by rounding
      corner.low = corner.high = (corner.low + corner.high) / 2;
    if (corners_.empty() || corners_.back().rate < rate)
      corners_.push_back(corner);
  };
  // Between a rate with lines and one without, where the gap closes.
  auto end = [&](double with, double without) {
    const double from = gap(with);
    const double to = gap(without);
    return with + (without - with) * std::clamp((allowed - from) / (to - from), 0.0, 1.0);
  };
  std::size_t first = best;
  while (first > 0 && gap(rates[first - 1]) <= allowed)
    --first;
  if (first > 0)
    add(end(rates[first], rates[first - 1]));
  std::size_t last = first;
  for (; last < rates.size() && gap(rates[last]) <= allowed; ++last)
    add(rates[last]);
  if (last < rates.size())
    add(end(rates[last - 1], rates[last]));
}

std::vector<std::size_t> FeasibleLines::contradicting() const {
  std::vector<std::size_t> sources;
  if (lacking_ == 0)
    return sources;
  for (const UpperHull* hull : {&lower_, &upper_}) {
    const std::vector<LinePoint>& corners = hull->corners();
    sources.push_back(hull->touched(best_rate_).source);
    for (std::size_t i = 1; i < corners.size(); ++i)
      if (rate_of(corners[i - 1], corners[i]) == best_rate_)
        for (const LinePoint* end : {&corners[i - 1], &corners[i]})
          sources.push_back(end->source);
  }
  std::ranges::sort(sources);
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

FeasibleLines::Range FeasibleLines::at(double x) const {
  Range range{INFINITY, -INFINITY};
  for (const Corner& corner : corners_) {
    range.low = std::min(range.low, corner.low + corner.rate * x);
    range.high = std::max(range.high, corner.high + corner.rate * x);
  }
  return range;
}

} // namespace ncclprobe::analysis::timeline
