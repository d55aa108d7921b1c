// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/cell_time.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

using model::Sample;

// Valid samples by batch, then rank; several of one batch and rank keep their order.
std::vector<Sample> in_order(const std::vector<Sample>& samples) {
  std::vector<Sample> ordered;
  ordered.reserve(samples.size());
  std::ranges::copy_if(samples, std::back_inserter(ordered),
                       [](const Sample& one) { return one.iterations > 0; });
  auto place = [](const Sample& one) { return std::tuple(one.batch, one.rank); };
  if (!std::ranges::is_sorted(ordered, {}, place))
    std::ranges::stable_sort(ordered, {}, place);
  return ordered;
}

std::vector<int> ranks_of(const std::vector<Sample>& ordered) {
  std::vector<int> ranks;
  std::size_t next = 0; // of `ranks`: usually a batch has the same ranks as the previous one
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const int rank = ordered[i].rank;
    if (i > 0 && ordered[i].batch != ordered[i - 1].batch)
      next = 0;
    if (next >= ranks.size() || ranks[next] != rank) {
      auto place = std::ranges::lower_bound(ranks, rank);
      if (place == ranks.end() || *place != rank)
        place = ranks.insert(place, rank);
      next = static_cast<std::size_t>(place - ranks.begin());
    }
    ++next;
  }
  return ranks;
}

// The end of the batch that begins at `first`.
std::size_t end_of_batch(const std::vector<Sample>& ordered, std::size_t first) {
  std::size_t end = first;
  while (end < ordered.size() && ordered[end].batch == ordered[first].batch)
    ++end;
  return end;
}

} // namespace

std::optional<CellTime> cell_time(const std::vector<Sample>& samples) {
  const std::vector<Sample> ordered = in_order(samples);
  const std::vector<int> ranks = ranks_of(ordered);
  const auto count = static_cast<double>(ranks.size());
  CellTime time;
  std::vector<double> rank_ns;   // of complete batches, each by rank
  std::vector<double> launch_ns; // of batches in which all ranks reported
  for (std::size_t first = 0, end = 0; first < ordered.size(); first = end) {
    end = end_of_batch(ordered, first);
    const std::size_t begin_of_batch = rank_ns.size();
    double launches_ns = 0;
    std::size_t launches = 0;
    for (std::size_t i = first; i < end; ++i) {
      const Sample& one = ordered[i];
      const double time_ns =
          static_cast<double>(one.elapsed_ns) / static_cast<double>(one.iterations);
      if (i > first && ordered[i - 1].rank == one.rank)
        rank_ns.back() = time_ns; // the last one counts
      else
        rank_ns.push_back(time_ns);
      if (one.launch_ns < 0)
        continue;
      launches_ns += static_cast<double>(one.launch_ns) / one.iterations;
      ++launches;
    }
    if (rank_ns.size() - begin_of_batch != ranks.size()) {
      rank_ns.resize(begin_of_batch);
      continue;
    }
    if (launches == ranks.size())
      launch_ns.push_back(launches_ns / count);
    double sum_ns = 0;
    for (std::size_t i = begin_of_batch; i < rank_ns.size(); ++i)
      sum_ns += rank_ns[i];
    time.batch_ns.push_back(sum_ns / count);
  }
  if (time.batch_ns.empty())
    return std::nullopt;
  time.batch_ns.shrink_to_fit();
  time.over_batches_ns = summarise(time.batch_ns);
  if (!launch_ns.empty())
    time.launch_ns = median(std::move(launch_ns));
  auto medians_ns = std::make_shared<RankValues>();
  medians_ns->reserve(ranks.size());
  std::vector<double> of_rank_ns(time.batch_ns.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t batch = 0; batch < of_rank_ns.size(); ++batch)
      of_rank_ns[batch] = rank_ns[batch * ranks.size() + r];
    medians_ns->add(ranks[r], median_in_place(of_rank_ns));
  }
  time.rank_ns = std::move(medians_ns);
  return time;
}

Latency latency_of(const CellTime& time) {
  return {.p50_ns = time.over_batches_ns.median,
          .p90_ns = quantile(time.batch_ns, 0.9),
          .p99_ns = quantile(time.batch_ns, 0.99),
          .max_ns = time.over_batches_ns.max,
          .launches = time.batch_ns.size()};
}

std::optional<SlowestRank> slowest_rank(const RankValues& rank_ns) {
  if (rank_ns.size() < 2)
    return std::nullopt;
  std::size_t slowest = 0, fastest = 0;
  for (std::size_t i = 1; i < rank_ns.size(); ++i) {
    if (rank_ns.value(i) > rank_ns.value(slowest))
      slowest = i;
    if (rank_ns.value(i) < rank_ns.value(fastest))
      fastest = i;
  }
  if (rank_ns.value(slowest) == rank_ns.value(fastest))
    return std::nullopt;
  return SlowestRank{rank_ns.rank(slowest), rank_ns.value(slowest)};
}

} // namespace ncclprobe::analysis
