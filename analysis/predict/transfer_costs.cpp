// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/transfer_costs.h"

#include "analysis/results/cell_summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis::cost_model {

namespace {

double rms_of(const std::vector<RankErrors::Error>& errors) {
  double squares = 0;
  for (const RankErrors::Error& one : errors)
    squares += one.relative * one.relative;
  return errors.empty() ? 0 : std::sqrt(squares / static_cast<double>(errors.size()));
}

// Sizes at most this many doublings farther than the nearest.
constexpr double k_near = 2;
std::vector<RankErrors::Error> nearest(const std::vector<RankErrors::Error>& errors,
                                       double bytes_per_rank) {
  auto doublings = [&](const RankErrors::Error& one) {
    return std::abs(std::log2(one.bytes_per_rank / bytes_per_rank));
  };
  double least = HUGE_VAL;
  for (const RankErrors::Error& one : errors)
    least = std::min(least, doublings(one));
  std::vector<RankErrors::Error> near;
  for (const RankErrors::Error& one : errors)
    if (doublings(one) <= least + k_near)
      near.push_back(one);
  return near;
}

} // namespace

double RankErrors::rms() const {
  return rms_of(errors);
}

std::optional<double> RankErrors::half_width(int ranks, std::uint64_t bytes) const {
  if (left_out.empty() || measured.size() < 2)
    return std::nullopt;
  const double doublings = std::log2(static_cast<double>(ranks) / measured.back());
  // For one number of ranks, the errors of all sizes are correlated: they count as one value each.
  return student_quantile(static_cast<double>(left_out.size()), k_confidence) *
         rms_of(nearest(errors, static_cast<double>(bytes) / ranks)) *
         std::sqrt(std::max(doublings, 1.0));
}

TransferCosts::TransferCosts(const std::vector<Point>& points, int ranks_per_node) {
  std::map<model::Collective, std::set<int>> numbers;
  for (const Point& point : points)
    numbers[point.collective].insert(point.ranks);
  for (const auto& [collective, ranks] : numbers) {
    auto model = RankModel::fit(points, collective, ranks_per_node);
    if (!model) {
      no_line_[collective].assign(ranks.begin(), ranks.end());
      continue;
    }
    models_.emplace(collective, std::move(*model));
    RankErrors& errors = rank_errors_[collective];
    errors.measured.assign(ranks.begin(), ranks.end());
    for (int left : ranks) {
      std::vector<Point> others = points;
      std::erase_if(others, [&](const Point& point) { return point.ranks == left; });
      auto without = RankModel::fit(others, collective, ranks_per_node);
      if (!without)
        continue;
      bool any = false;
      for (const Point& point : points)
        if (point.collective == collective && point.ranks == left)
          if (auto time = without->at(left, point.bytes, std::nullopt)) {
            errors.errors.push_back(
                {static_cast<double>(point.bytes) / left, time->ns / point.time_ns - 1});
            any = true;
          }
      if (any)
        errors.left_out.push_back(left);
    }
  }
}

base::Result<TransferCosts::Time>
TransferCosts::of(const Transfer& transfer, const std::optional<InterNode>& inter_node) const {
  auto model = models_.find(transfer.collective);
  if (model == models_.end()) {
    const auto name = model::to_string(transfer.collective);
    auto few = no_line_.find(transfer.collective);
    return fail(base::Error{Errc::not_found,
                            few == no_line_.end()
                                ? fmt::format("no {} on two ranks or more was measured", name)
                                : fmt::format("{} was measured on {} ranks, but nowhere at two "
                                              "sizes that NCCL ran the same way",
                                              name, fmt::join(few->second, ", ")),
                            fmt::format("measure sizes and add that run (--also, or runs of the "
                                        "node): ncclprobe run --collectives {} --sizes 1M:1G",
                                        name)});
  }
  auto time = model->second.at({transfer.ranks, transfer.ranks_per_node, transfer.sharing},
                               transfer.bytes, inter_node);
  if (!time)
    return fail(Errc::unavailable,
                "more ranks than one node has: describe the network between nodes (--inter-node)");
  Time out{time->ns, std::nullopt};
  if (time->interval_ns && time->ns > 0)
    out.half_width = (time->interval_ns->high - time->interval_ns->low) / 2 / time->ns;
  const RankErrors& errors = rank_errors_.at(transfer.collective);
  const bool fitted =
      std::binary_search(errors.measured.begin(), errors.measured.end(), transfer.ranks);
  if (fitted || transfer.collective == model::Collective::send_recv)
    return out; // a message between two ranks is the same in any communicator
  const auto beyond = errors.half_width(transfer.ranks, transfer.bytes);
  out.half_width =
      out.half_width && beyond ? std::optional(std::max(*out.half_width, *beyond)) : std::nullopt;
  return out;
}

} // namespace ncclprobe::analysis::cost_model
