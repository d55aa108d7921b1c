// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/stragglers.h"

#include "analysis/statistics/inference.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::int64_t k_no_start = INT64_MIN;
constexpr double k_deviations =
    1.4826; // for a normal distribution, from its median absolute deviation
constexpr std::size_t k_most_stretches = 100;
constexpr std::size_t k_most_skews_drawn = 16'384;
constexpr std::size_t k_most_starts_drawn = 512; // of each rank

// Consecutive steps, the units of random draws.
struct Blocks {
  std::vector<std::uint32_t> of_collective;
  std::vector<double> steps; // in each
  std::vector<std::uint32_t> step_of_collective;
};

// References, so the collectives of one cell form a separate list.
using Collectives = std::vector<const CollectiveSummary*>;

// Collectives in the order of their steps; without steps, each is its own step.
Blocks blocks_of(const Collectives& collectives, bool per_step) {
  std::vector<std::uint32_t> order(collectives.size());
  std::iota(order.begin(), order.end(), 0u);
  auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return per_step ? collectives[a]->step < collectives[b]->step
                    : collectives[a]->first_start_ns < collectives[b]->first_start_ns;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  std::vector<std::uint32_t> step_of(collectives.size());
  std::uint32_t steps = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool same = i > 0 && per_step && collectives[order[i]]->step == collectives[order[i - 1]]->step;
    steps += !same;
    step_of[order[i]] = steps - 1;
  }
  std::size_t count = std::min<std::size_t>(steps, k_most_blocks);
  Blocks out{std::vector<std::uint32_t>(collectives.size()), steps_in_blocks(steps, count), {}};
  for (std::size_t i = 0; i < collectives.size(); ++i)
    out.of_collective[i] = static_cast<std::uint32_t>(block_of_step(step_of[i], steps, count));
  out.step_of_collective = std::move(step_of);
  return out;
}

class StragglerFinder {
public:
  // `all`: collectives of one cell. `sampled`: which of the sample belong to the cell.
  StragglerFinder(Collectives all, std::vector<std::size_t> sampled, const CollectiveTable& table,
                  const StartSample& sample, const std::vector<int>& ranks, const Clocks& clocks)
      : all_(std::move(all)), sampled_(std::move(sampled)), table_(table), sample_(sample),
        ranks_(ranks), clocks_(clocks) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      index_[ranks[i]] = i;
  }

  Stragglers find() {
    out_.per_step = all_.front()->step.batch >= 0;
    for (int rank : ranks_) {
      out_.ranks.emplace_back();
      out_.ranks.back().rank = rank;
    }
    blocks_ = blocks_of(all_, out_.per_step);
    out_.steps = static_cast<std::uint64_t>(
        std::accumulate(blocks_.steps.begin(), blocks_.steps.end(), 0.0));
    skew();
    delays();
    lateness();
    recurring();
    return std::move(out_);
  }

private:
  void skew() {
    std::vector<double> skews, errors;
    std::vector<InBlock> in_blocks;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const CollectiveSummary& one = *all_[i];
      if (one.ranks < 2) {
        ++out_.skew.single;
        continue;
      }
      ++out_.skew.collectives;
      out_.skew.complete += one.is_complete();
      skews.push_back(static_cast<double>(one.last_start_ns - one.first_start_ns));
      in_blocks.push_back({skews.back(), blocks_.of_collective[i]});
      errors.push_back(clocks_.pair_error_ns(one.first_rank, one.last_rank, one.last_start_ns));
    }
    if (skews.empty())
      return;
    out_.skew.median = quantile_of(skews, errors, 0.5);
    out_.skew.p99 = quantile_of(skews, errors, 0.99);
    out_.skew.largest = quantile_of(skews, errors, 1);
    const auto intervals =
        bootstrap(std::move(in_blocks),
                  {[](const DrawnValues& drawn) { return drawn.quantile(0.5); },
                   [](const DrawnValues& drawn) { return drawn.quantile(0.99); }},
                  k_most_skews_drawn);
    if (out_.skew.median->is_shown())
      out_.skew.median_interval = intervals[0];
    if (out_.skew.p99->is_shown())
      out_.skew.p99_interval = intervals[1];
  }

  // The delay of the last rank behind the second last; 0 if it is not significant.
  Aligned delay_of(const CollectiveSummary& one) const {
    const Aligned by{static_cast<double>(one.last_start_ns - one.second_last_start_ns),
                     clocks_.pair_error_ns(one.last_rank, one.second_last_rank, one.last_start_ns)};
    return by.is_shown() ? by : Aligned();
  }

  void delays() {
    std::vector<std::vector<double>> sums(ranks_.size(), std::vector<double>(blocks_.steps.size()));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const CollectiveSummary& one = *all_[i];
      if (!one.is_complete())
        continue;
      const Aligned by = delay_of(one);
      if (by.value_ns == 0)
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
    struct OfRank {
      std::vector<double> late_ns, errors_ns;
      std::vector<InBlock> in_blocks;
    };
    std::vector<OfRank> of_rank(ranks_.size());
    std::vector<double> starts, errors;
    for (std::size_t i : sampled_) {
      starts.clear();
      const CollectiveSummary& one = table_.all()[sample_.collective(i)];
      const std::uint32_t block = blocks_.of_collective[place_of(one)];
      const std::int64_t base = one.first_start_ns; // differences fit into a double
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (auto start = sample_.start(i, rank))
          starts.push_back(static_cast<double>(*start - base));
      if (starts.size() < 2)
        continue;
      ++out_.sampled;
      errors = errors_of_lateness(i, base);
      double middle = median(starts);
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (auto start = sample_.start(i, rank)) {
          OfRank& own = of_rank[rank];
          own.late_ns.push_back(static_cast<double>(*start - base) - middle);
          own.errors_ns.push_back(errors[rank]);
          own.in_blocks.push_back({own.late_ns.back(), block});
        }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      OfRank& own = of_rank[rank];
      Straggler& straggler = out_.ranks[rank];
      straggler.collectives = own.late_ns.size();
      if (own.late_ns.empty())
        continue;
      Summary summary = summarise(own.late_ns);
      straggler.lateness = quantile_of(own.late_ns, own.errors_ns, 0.5);
      if (!straggler.lateness->is_shown())
        continue;
      straggler.lateness_interval = lateness_interval(own.in_blocks);
      const double scatter = k_deviations * summary.median_absolute_deviation.value_or(0);
      if (scatter <= 0)
        continue;
      straggler.score = summary.median / scatter;
      straggler.score_interval =
          bootstrap(std::move(own.in_blocks), {score_of}, k_most_starts_drawn)[0];
    }
  }

  // By rank: error of its difference to the rank with the least accurate clock.
  std::vector<double> errors_of_lateness(std::size_t sampled, std::int64_t at_ns) const {
    using Known = Clocks::GpusKnown;
    std::vector<double> errors(ranks_.size(), INFINITY), own(ranks_.size());
    for (Known known : {Known::to_hosts, Known::to_each_other}) {
      if (known == Known::to_each_other && !clocks_.gpus_compared)
        continue;
      double most = 0, second_most = 0;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        if (sample_.start(sampled, rank)) {
          own[rank] = clocks_.own_error_ns(ranks_[rank], at_ns, known);
          second_most = std::max(second_most, std::min(most, own[rank]));
          most = std::max(most, own[rank]);
        }
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        errors[rank] = std::min(errors[rank], own[rank] + (own[rank] < most ? most : second_most));
    }
    return errors;
  }

  void recurring() {
    const std::vector<std::uint32_t>& step_of = blocks_.step_of_collective;
    std::map<int, std::vector<LatenessOfStep>> late;
    const std::size_t stretches = std::min(out_.steps, k_most_stretches);
    out_.stretches.resize(stretches);
    for (std::size_t step = 0; step < out_.steps; ++step)
      ++out_.stretches[block_of_step(step, out_.steps, stretches)];
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i]->is_complete())
        continue;
      const Aligned by = delay_of(*all_[i]);
      if (by.value_ns == 0)
        continue;
      std::vector<LatenessOfStep>& steps = late[all_[i]->last_rank];
      steps.resize(out_.steps);
      std::vector<double>& delays = out_.ranks[index_.at(all_[i]->last_rank)].delay_by_stretch_ns;
      delays.resize(stretches);
      const std::size_t stretch = block_of_step(step_of[i], out_.steps, stretches);
      delays[stretch] += by.value_ns / static_cast<double>(out_.stretches[stretch]);
      if (by.value_ns > steps[step_of[i]].value_ns)
        steps[step_of[i]] = by;
    }
    for (auto& [rank, steps] : late)
      out_.ranks[index_.at(rank)].recurring = recurring_lateness(steps);
  }

  static std::optional<Interval> lateness_interval(const std::vector<InBlock>& late) {
    std::map<std::uint32_t, std::vector<double>> by_block;
    for (const InBlock& one : late)
      by_block[one.block].push_back(one.value);
    std::vector<double> medians;
    for (auto& [block, values] : by_block)
      medians.push_back(median(std::move(values)));
    return median_interval(std::move(medians), k_confidence);
  }

  static std::optional<double> score_of(const DrawnValues& drawn) {
    const double middle = drawn.quantile(0.5);
    const double scatter = k_deviations * drawn.median_distance(middle);
    if (scatter > 0)
      return middle / scatter;
    return middle == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), middle);
  }

  // Collectives are in the table's order.
  std::size_t place_of(const CollectiveSummary& one) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(all_, &one) - all_.begin());
  }

  const Collectives all_;
  const std::vector<std::size_t> sampled_;
  const CollectiveTable& table_;
  const StartSample& sample_;
  const std::vector<int>& ranks_;
  const Clocks& clocks_;
  std::map<int, std::size_t> index_;
  Blocks blocks_;
  Stragglers out_;
};

} // namespace

StartSample::StartSample(std::size_t collectives, std::size_t ranks, std::size_t most)
    : ranks_(ranks), collectives_(collectives) {
  std::size_t kept = std::max<std::size_t>(1, most / std::max<std::size_t>(1, ranks));
  every_ = (collectives + kept - 1) / kept;
  every_ = std::max<std::size_t>(1, every_);
  starts_.assign((collectives + every_ - 1) / every_ * ranks, k_no_start);
}

void StartSample::note(std::size_t collective, std::size_t rank_index, std::int64_t start_ns) {
  if (collective == this->collective(collective / every_))
    starts_[collective / every_ * ranks_ + rank_index] = start_ns;
}

std::optional<std::int64_t> StartSample::start(std::size_t i, std::size_t rank_index) const {
  std::int64_t start_ns = starts_[i * ranks_ + rank_index];
  return start_ns == k_no_start ? std::nullopt : std::optional(start_ns);
}

ByCell<Stragglers> find_stragglers(const CollectiveTable& table, const StartSample& sample,
                                   const std::vector<int>& ranks, const Clocks& clocks) {
  struct OfCell {
    Collectives all;
    std::vector<std::size_t> sampled;
  };
  ByCell<OfCell> cells;
  const std::vector<CollectiveSummary>& all = table.all();
  for (const CollectiveSummary& one : all)
    cells[one.step.cell].all.push_back(&one);
  for (std::size_t i = 0; i < sample.size(); ++i)
    cells[all[sample.collective(i)].step.cell].sampled.push_back(i);
  ByCell<Stragglers> out;
  for (auto& [cell, of_cell] : cells)
    out[cell] = StragglerFinder(std::move(of_cell.all), std::move(of_cell.sampled), table, sample,
                                ranks, clocks)
                    .find();
  return out;
}

PhysicsCheck check_physics(const CollectiveTable& table, const Clocks& clocks) {
  PhysicsCheck physics;
  const bool uses_collectives = clocks.uses_collectives();
  for (const CollectiveSummary& one : table.all()) {
    if (one.ranks < 2 || !one.needs_all)
      continue;
    if (uses_collectives && !one.is_held_out) {
      ++physics.made_the_clocks;
      continue;
    }
    const std::int64_t margin_ns = one.first_end_ns - one.last_start_ns;
    ++physics.checked;
    physics.violations += margin_ns < 0;
    physics.beyond_bound +=
        static_cast<double>(margin_ns) <
        -clocks.pair_error_ns(one.first_end_rank, one.last_rank, one.last_start_ns);
    if (!physics.worst_margin_ns || margin_ns < *physics.worst_margin_ns)
      physics.worst_margin_ns = margin_ns;
  }
  return physics;
}

} // namespace ncclprobe::analysis::timeline
