// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/stragglers.h"

#include "analysis/cell_summary.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::int64_t k_no_start = INT64_MIN;
constexpr std::size_t k_fewest_blocks = 6; // a median's 95% interval needs as many
constexpr std::size_t k_resamples = 1000;

// Consecutive steps, of which there are as many as chance may draw from.
struct Blocks {
  std::vector<std::uint32_t> of_collective;
  std::vector<double> steps; // in each
};

// Collectives in the order of their steps; each is its own step where there are none.
Blocks blocks_of(const std::vector<Collective>& collectives, bool per_step) {
  std::vector<std::uint32_t> order(collectives.size());
  std::iota(order.begin(), order.end(), 0u);
  auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return per_step ? collectives[a].step < collectives[b].step
                    : collectives[a].first_start_ns < collectives[b].first_start_ns;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  std::vector<std::uint32_t> step_of(collectives.size());
  std::uint32_t steps = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool same = i > 0 && per_step && collectives[order[i]].step == collectives[order[i - 1]].step;
    steps += !same;
    step_of[order[i]] = steps - 1;
  }
  std::size_t count = std::min<std::size_t>(steps, k_most_blocks);
  Blocks out{std::vector<std::uint32_t>(collectives.size()), steps_in_blocks(steps, count)};
  for (std::size_t i = 0; i < collectives.size(); ++i)
    out.of_collective[i] = static_cast<std::uint32_t>(block_of_step(step_of[i], steps, count));
  return out;
}

class Finder {
public:
  Finder(const CollectiveTable& table, const StartSample& sample, const std::vector<int>& ranks,
         const Clocks& clocks)
      : all_(table.all()), sample_(sample), ranks_(ranks), clocks_(clocks) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      index_[ranks[i]] = i;
  }

  Stragglers find() {
    out_.per_step = std::any_of(all_.begin(), all_.end(), [](const Collective& collective) {
      return collective.step.batch >= 0;
    });
    for (int rank : ranks_) {
      out_.ranks.emplace_back();
      out_.ranks.back().rank = rank;
    }
    blocks_ = blocks_of(all_, out_.per_step);
    out_.steps = static_cast<std::uint64_t>(
        std::accumulate(blocks_.steps.begin(), blocks_.steps.end(), 0.0));
    skew_and_physics();
    delays();
    lateness();
    return std::move(out_);
  }

private:
  void skew_and_physics() {
    std::vector<double> skews;
    double worst_error = 0;
    for (const Collective& one : all_) {
      if (one.ranks < 2) {
        ++out_.skew.single;
        continue;
      }
      ++out_.skew.collectives;
      out_.skew.complete += one.ranks == one.expected_ranks;
      skews.push_back(static_cast<double>(one.last_start_ns - one.first_start_ns));
      worst_error = std::max(worst_error, clocks_.pair_error_ns(one.first_rank, one.last_rank));
      if (!one.needs_all)
        continue;
      PhysicsCheck& physics = out_.physics;
      std::int64_t margin_ns = one.first_end_ns - one.last_start_ns;
      ++physics.checked;
      physics.violations += margin_ns < 0;
      physics.beyond_bound += static_cast<double>(margin_ns) <
                              -clocks_.pair_error_ns(one.first_end_rank, one.last_rank);
      if (!physics.worst_margin_ns || margin_ns < *physics.worst_margin_ns)
        physics.worst_margin_ns = margin_ns;
    }
    if (skews.empty())
      return;
    out_.skew.median = Aligned{quantile(skews, 0.5), worst_error};
    out_.skew.p99 = Aligned{quantile(skews, 0.99), worst_error};
    out_.skew.largest = Aligned{quantile(skews, 1), worst_error};
  }

  void delays() {
    std::vector<std::vector<double>> sums(ranks_.size(), std::vector<double>(blocks_.steps.size()));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Collective& one = all_[i];
      if (one.ranks < 2)
        continue;
      Aligned by{static_cast<double>(one.last_start_ns - one.second_last_start_ns),
                 clocks_.pair_error_ns(one.last_rank, one.second_last_rank)};
      if (by.value_ns == 0 || !by.is_shown())
        continue;
      Straggler& last = out_.ranks[index_.at(one.last_rank)];
      ++last.times_last;
      last.delay.value_ns += by.value_ns;
      last.delay.error_ns += by.error_ns;
      sums[index_.at(one.last_rank)][blocks_.of_collective[i]] += by.value_ns;
    }
    auto intervals = bootstrap_per_step(sums, blocks_.steps);
    for (std::size_t rank = 0; rank < ranks_.size() && out_.steps > 0; ++rank) {
      out_.ranks[rank].delay.value_ns /= static_cast<double>(out_.steps);
      out_.ranks[rank].delay.error_ns /= static_cast<double>(out_.steps);
      if (out_.ranks[rank].times_last > 0)
        out_.ranks[rank].delay_interval = intervals[rank];
    }
  }

  void lateness() {
    std::vector<std::vector<double>> late(ranks_.size());
    std::vector<std::map<std::uint32_t, std::vector<double>>> by_block(ranks_.size());
    std::vector<double> starts;
    for (std::size_t i = 0; i < sample_.size(); ++i) {
      starts.clear();
      std::int64_t base = all_[sample_.collective(i)].first_start_ns; // differences fit a double
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (auto start = sample_.start(i, rank))
          starts.push_back(static_cast<double>(*start - base));
      if (starts.size() < 2)
        continue;
      ++out_.sampled;
      double middle = median(starts);
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (auto start = sample_.start(i, rank)) {
          late[rank].push_back(static_cast<double>(*start - base) - middle);
          by_block[rank][blocks_.of_collective[sample_.collective(i)]].push_back(late[rank].back());
        }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Straggler& straggler = out_.ranks[rank];
      straggler.collectives = late[rank].size();
      if (late[rank].empty())
        continue;
      double error_ns = 0;
      for (int other : ranks_)
        error_ns = std::max(error_ns, clocks_.pair_error_ns(ranks_[rank], other));
      Summary summary = summarise(late[rank]);
      straggler.lateness = Aligned{summary.median, error_ns};
      std::vector<double> medians;
      for (const auto& [block, values] : by_block[rank])
        medians.push_back(median(values));
      straggler.lateness_interval = median_interval(std::move(medians), k_confidence);
      double scatter = 1.4826 * summary.median_absolute_deviation.value_or(0);
      if (scatter > 0 && straggler.lateness->is_shown())
        straggler.score = summary.median / scatter;
    }
  }

  const std::vector<Collective>& all_;
  const StartSample& sample_;
  const std::vector<int>& ranks_;
  const Clocks& clocks_;
  std::map<int, std::size_t> index_;
  Blocks blocks_;
  Stragglers out_;
};

} // namespace

std::vector<double> steps_in_blocks(std::size_t steps, std::size_t blocks) {
  std::vector<double> out(blocks);
  for (std::size_t step = 0; step < steps; ++step)
    ++out[block_of_step(step, steps, blocks)];
  return out;
}

std::vector<std::optional<Interval>>
bootstrap_per_step(const std::vector<std::vector<double>>& sums, const std::vector<double>& steps) {
  std::vector<std::optional<Interval>> out(sums.size());
  if (steps.size() < k_fewest_blocks)
    return out;
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> means(sums.size());
  std::vector<std::size_t> drawn(steps.size());
  for (std::size_t i = 0; i < k_resamples; ++i) {
    double all_steps = 0;
    for (std::size_t& block : drawn) {
      block = static_cast<std::size_t>(random() % steps.size());
      all_steps += steps[block];
    }
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      double sum = 0;
      for (std::size_t block : drawn)
        sum += sums[rank][block];
      means[rank].push_back(sum / all_steps);
    }
  }
  double tail = (1 - k_confidence) / 2;
  for (std::size_t rank = 0; rank < sums.size(); ++rank)
    out[rank] = Interval{quantile(means[rank], tail), quantile(means[rank], 1 - tail)};
  return out;
}

StartSample::StartSample(std::size_t collectives, std::size_t ranks, std::size_t most)
    : ranks_(ranks) {
  std::size_t kept = std::max<std::size_t>(1, most / std::max<std::size_t>(1, ranks));
  every_ = (collectives + kept - 1) / kept;
  every_ = std::max<std::size_t>(1, every_);
  starts_.assign((collectives + every_ - 1) / every_ * ranks, k_no_start);
}

void StartSample::note(std::size_t collective, std::size_t rank_index, std::int64_t start_ns) {
  if (collective % every_ == 0)
    starts_[collective / every_ * ranks_ + rank_index] = start_ns;
}

std::optional<std::int64_t> StartSample::start(std::size_t i, std::size_t rank_index) const {
  std::int64_t start_ns = starts_[i * ranks_ + rank_index];
  return start_ns == k_no_start ? std::nullopt : std::optional(start_ns);
}

Stragglers find_stragglers(const CollectiveTable& table, const StartSample& sample,
                           const std::vector<int>& ranks, const Clocks& clocks) {
  return Finder(table, sample, ranks, clocks).find();
}

} // namespace ncclprobe::analysis::timeline
