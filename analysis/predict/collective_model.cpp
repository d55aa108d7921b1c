// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/collective_model.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace ncclprobe::analysis::cost_model {
namespace {

using Points = std::vector<Point>;

// A piece is split if at most a quarter of the squared errors remains, and if they are significant.
constexpr std::size_t k_least_in_piece = 3;
constexpr double k_cut_leaves = 0.25;
constexpr double k_worth_cutting = 0.02; // root mean square of relative errors

std::optional<Fit> line_through(const Points& points) {
  std::vector<std::vector<double>> features;
  std::vector<double> times_ns;
  for (const Point& point : points) {
    features.push_back({1, static_cast<double>(point.bytes)});
    times_ns.push_back(point.time_ns);
  }
  return fit_times(features, times_ns);
}

double squares_of(const Fit& fit) {
  double sum = 0;
  for (double residual : fit.residuals)
    sum += residual * residual;
  return sum;
}

// Neighbouring sizes that NCCL ran the same way.
std::vector<Points> observed_runs(const Points& points) {
  std::vector<Points> runs;
  for (const Point& point : points) {
    if (runs.empty() || runs.back().back().algorithm != point.algorithm ||
        runs.back().back().protocol != point.protocol)
      runs.emplace_back();
    runs.back().push_back(point);
  }
  return runs;
}

std::size_t sizes_in(const Points& points) {
  std::set<std::uint64_t> sizes;
  for (const Point& point : points)
    sizes.insert(point.bytes);
  return sizes.size();
}

// The subranges of one range of points that each follow one line.
void cut(const Points& points, std::vector<Points>& out) {
  auto whole = line_through(points);
  const double squares = whole ? squares_of(*whole) : 0;
  std::size_t best = 0;
  double best_squares = squares * k_cut_leaves;
  if (whole && std::sqrt(squares / static_cast<double>(points.size())) > k_worth_cutting)
    for (std::size_t at = k_least_in_piece; at + k_least_in_piece <= points.size(); ++at) {
      const auto middle = points.begin() + static_cast<std::ptrdiff_t>(at);
      const Points low(points.begin(), middle), high(middle, points.end());
      if (low.back().bytes == high.front().bytes || sizes_in(low) < k_least_in_piece ||
          sizes_in(high) < k_least_in_piece)
        continue;
      auto below = line_through(low), above = line_through(high);
      if (!below || !above || squares_of(*below) + squares_of(*above) >= best_squares)
        continue;
      best = at;
      best_squares = squares_of(*below) + squares_of(*above);
    }
  if (best == 0) {
    out.push_back(points);
    return;
  }
  const auto middle = points.begin() + static_cast<std::ptrdiff_t>(best);
  cut(Points(points.begin(), middle), out);
  cut(Points(middle, points.end()), out);
}

// Points of one collective and number of ranks.
CollectiveModel model_of(const Points& points) {
  CollectiveModel model{.collective = points.front().collective,
                        .ranks = points.front().ranks,
                        .points = points.size()};
  bool first = true;
  for (const Points& run : observed_runs(points)) {
    std::vector<Points> parts;
    cut(run, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Points& part = parts[i];
      auto line = line_through(part);
      if (!line)
        continue; // a single size: no line
      model.pieces.push_back({.first_bytes = part.front().bytes,
                              .last_bytes = part.back().bytes,
                              .algorithm = part.front().algorithm,
                              .protocol = part.front().protocol,
                              .begin = first    ? Piece::Begin::first
                                       : i == 0 ? Piece::Begin::observed
                                                : Piece::Begin::fitted,
                              .line = std::move(*line)});
      first = false;
      for (const Point& left : part) {
        Points others = part;
        std::erase_if(others, [&](const Point& other) { return other.bytes == left.bytes; });
        if (sizes_in(others) < 2)
          continue;
        if (auto without = line_through(others))
          model.left_out_errors.push_back(
              std::abs(without->at({1, static_cast<double>(left.bytes)}) / left.time_ns - 1));
      }
    }
  }
  return model;
}

} // namespace

std::vector<CollectiveModel> collective_models(const std::vector<Point>& all) {
  const Points points = with_nearest_algorithms(all);
  std::vector<CollectiveModel> models;
  for (auto first = points.begin(); first != points.end();) {
    auto last = std::find_if(first, points.end(), [&](const Point& point) {
      return point.collective != first->collective || point.ranks != first->ranks;
    });
    CollectiveModel model = model_of(Points(first, last));
    if (!model.pieces.empty())
      models.push_back(std::move(model));
    first = last;
  }
  return models;
}

std::optional<LeftOut> left_out(const std::vector<CollectiveModel>& models) {
  std::vector<double> errors;
  for (const CollectiveModel& model : models)
    errors.insert(errors.end(), model.left_out_errors.begin(), model.left_out_errors.end());
  if (errors.empty())
    return std::nullopt;
  return LeftOut{.median = median(errors),
                 .largest = *std::max_element(errors.begin(), errors.end()),
                 .sizes = errors.size()};
}

Shape shape_of(model::Collective collective, bool tree, int ranks, int ranks_per_node) {
  using enum model::Collective;
  const double n = ranks;
  const double nodes =
      ranks_per_node > 0 && ranks > ranks_per_node ? std::ceil(n / ranks_per_node) : 1;
  auto levels = [](double count) {
    return static_cast<double>(std::bit_width(static_cast<unsigned>(std::max(count, 1.0)) - 1));
  };
  switch (collective) {
  case all_reduce:
    if (tree)
      return {2 * levels(n), 2, 2 * levels(nodes), nodes > 1 ? 2.0 : 0.0};
    return {2 * (n - 1), 2 * (n - 1) / n, 2 * (nodes - 1), nodes > 1 ? 2 * (n - 1) / n : 0};
  case all_gather:
  case reduce_scatter:
    return {n - 1, (n - 1) / n, nodes - 1, nodes > 1 ? (n - 1) / n : 0};
  case broadcast:
  case reduce:
    return {n - 1, 1, nodes - 1, nodes > 1 ? 1.0 : 0.0};
  case all_to_all:
    // Each rank of a node sends to every rank of the other nodes.
    return {n - 1, (n - 1) / n, nodes - 1,
            nodes > 1 ? ranks_per_node * (n - ranks_per_node) / n : 0};
  default:
    return {1, 1, nodes > 1 ? 1.0 : 0.0, nodes > 1 ? 1.0 : 0.0};
  }
}

std::optional<RankModel> RankModel::fit(const std::vector<Point>& points,
                                        model::Collective collective, int ranks_per_node) {
  Points own;
  RankModel out;
  out.collective_ = collective;
  out.ranks_per_node_ = ranks_per_node;
  for (const Point& point : with_nearest_algorithms(points))
    if (point.collective == collective) {
      own.push_back(point);
      out.most_ranks_ = std::max(out.most_ranks_, point.ranks);
    }
  const std::vector<CollectiveModel> models = collective_models(own); // by ranks
  if (models.empty())
    return std::nullopt;
  const CollectiveModel& widest = models.back();
  std::uint64_t after_bytes = 0;
  for (const Piece& piece : widest.pieces) {
    const bool is_last = &piece == &widest.pieces.back();
    Segment segment{.last_bytes = is_last ? UINT64_MAX : piece.last_bytes,
                    .tree = piece.algorithm == "TREE",
                    .has_base = false,
                    .fit = {}};
    Points inside;
    std::set<int> ranks;
    for (const Point& point : own)
      if (point.bytes > after_bytes && point.bytes <= segment.last_bytes &&
          (point.ranks == widest.ranks || point.algorithm.empty() || piece.algorithm.empty() ||
           (point.algorithm == piece.algorithm && point.protocol == piece.protocol))) {
        inside.push_back(point);
        ranks.insert(point.ranks);
      }
    segment.has_base = ranks.size() > 1;
    for (bool with_base : {true, false}) {
      if (with_base && !segment.has_base)
        continue;
      segment.has_base = with_base;
      std::vector<std::vector<double>> features;
      std::vector<double> times_ns;
      for (const Point& point : inside) {
        features.push_back(out.features(segment, point.ranks, static_cast<double>(point.bytes)));
        times_ns.push_back(point.time_ns);
      }
      if (auto fit = fit_times(features, times_ns)) {
        segment.fit = std::move(*fit);
        break;
      }
    }
    if (segment.fit.factors.empty())
      continue;
    after_bytes = segment.last_bytes;
    out.segments_.push_back(std::move(segment));
  }
  return out.segments_.empty() ? std::nullopt : std::optional(std::move(out));
}

std::vector<double> RankModel::features(const Segment& segment, int ranks, double bytes) const {
  const Shape shape = shape_of(collective_, segment.tree, ranks, ranks_per_node_);
  std::vector<double> out{shape.hops, shape.share * bytes};
  if (segment.has_base)
    out.insert(out.begin(), 1);
  return out;
}

std::optional<RankModel::Time> RankModel::at(const RankGroup& group, std::uint64_t bytes,
                                             const std::optional<InterNode>& inter_node) const {
  auto segment = std::find_if(segments_.begin(), segments_.end(),
                              [&](const Segment& one) { return bytes <= one.last_bytes; });
  if (segment == segments_.end())
    segment = segments_.end() - 1;
  const std::vector<double> x = features(*segment, group.ranks, static_cast<double>(bytes));
  Time time{segment->fit.at(x), segment->fit.interval_at(x)};
  if (group.ranks <= group.ranks_per_node || most_ranks_ > ranks_per_node_)
    return time; // within a node, or the measurements include the network
  if (!inter_node)
    return std::nullopt;
  const Shape shape =
      shape_of(collective_, segment->tree, group.ranks, std::max(group.ranks_per_node, 1));
  const double between_ns =
      shape.node_share * group.sharing * static_cast<double>(bytes) / inter_node->bytes_per_ns;
  const double within_ns = segment->fit.factors.back() * x.back();
  const double more_ns =
      shape.node_hops * inter_node->latency_ns + std::max(between_ns - within_ns, 0.0);
  time.ns += more_ns;
  if (time.interval_ns)
    time.interval_ns = Interval{time.interval_ns->low + more_ns, time.interval_ns->high + more_ns};
  return time;
}

} // namespace ncclprobe::analysis::cost_model
