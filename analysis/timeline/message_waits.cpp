// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/message_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ncclprobe::analysis::timeline {
namespace {

void check(PhysicsCheck& physics, std::int64_t margin_ns, double error_ns) {
  ++physics.checked;
  physics.violations += margin_ns < 0;
  physics.beyond_bound += static_cast<double>(margin_ns) < -error_ns;
  if (!physics.worst_margin_ns || margin_ns < *physics.worst_margin_ns)
    physics.worst_margin_ns = margin_ns;
}

void add_checks(PhysicsCheck& to, const PhysicsCheck& from) {
  to.checked += from.checked;
  to.violations += from.violations;
  to.beyond_bound += from.beyond_bound;
  if (from.worst_margin_ns)
    to.worst_margin_ns = std::min(to.worst_margin_ns.value_or(INT64_MAX), *from.worst_margin_ns);
}

void add(Aligned& to, const Aligned& from) {
  to.value_ns += from.value_ns;
  to.error_ns += from.error_ns;
}

void divide(Aligned& time, double by) {
  time.value_ns /= by;
  time.error_ns /= by;
}

// The last two of the ranks that a kernel needs, with the latest start of each.
class Arrivals {
public:
  Arrivals(int rank, std::int64_t at_ns) : last_{rank, at_ns} {}
  void add(int rank, std::int64_t at_ns) {
    if (rank == last_.rank) {
      last_.at_ns = std::max(last_.at_ns, at_ns);
    } else if (at_ns > last_.at_ns) {
      second_ = last_;
      last_ = {rank, at_ns};
    } else if (second_.rank < 0 || at_ns > second_.at_ns) {
      second_ = {rank, at_ns};
    }
  }
  int last_rank() const { return last_.rank; }
  std::int64_t last_ns() const { return last_.at_ns; }
  // Meaningless for a single rank.
  int second_rank() const { return second_.rank; }
  std::int64_t second_ns() const { return second_.at_ns; }

private:
  struct Arrival {
    int rank = -1;
    std::int64_t at_ns = INT64_MIN;
  };
  Arrival last_, second_;
};

} // namespace

std::uint64_t RankMessages::unmatched_halves() const {
  return std::accumulate(halves.begin(), halves.end(), clock_unknown) -
         halves[static_cast<std::size_t>(MatchState::matched)];
}

void RankMessages::add(const RankMessages& other) {
  for (std::size_t i = 0; i < k_match_states; ++i)
    halves[i] += other.halves[i];
  clock_unknown += other.clock_unknown;
  kernels += other.kernels;
  kernels_untold += other.kernels_untold;
  without_kernel += other.without_kernel;
  sent_ahead += other.sent_ahead;
  for (const UnmatchedHalf& one : other.unmatched)
    if (unmatched.size() < k_most_unmatched_named)
      unmatched.push_back(one);
  add_checks(physics, other.physics);
}

std::optional<MessageWait> wait_of_kernel(const MessageTable& table, const Clocks& clocks, int rank,
                                          std::span<const MessageHalf> halves,
                                          const KernelTimes& times, const StepKey& step,
                                          std::size_t block, std::size_t blocks,
                                          RankMessages& into) {
  ++into.kernels;
  RankMessages::Waits& waits = into.cells[step.cell];
  ++waits.kernels;
  const std::int64_t at_ns = times.aligned_start_ns;
  Arrivals arrivals(rank, at_ns);
  bool known = true;
  double error_ns = 0; // for sends that ended before their receive began
  for (const MessageHalf& half : halves) {
    const MessageTable::Other other = table.other_half(half);
    ++into.halves[static_cast<std::size_t>(other.match)];
    if (other.half == nullptr) {
      known = false;
      if (into.unmatched.size() < k_most_unmatched_named)
        into.unmatched.push_back({other.match, half.sends, rank, half.peer, half.number, step});
      continue;
    }
    const Span& theirs = other.half->span;
    double pair_error_ns = clocks.pair_error_ns(rank, other.half->rank, at_ns);
    if (!half.sends) {
      check(into.physics, times.aligned_end_ns - theirs.begin, pair_error_ns);
    } else if (other.half->rank != rank && theirs.begin >= times.aligned_end_ns) {
      ++into.sent_ahead;
      error_ns = std::max(
          error_ns, std::min(pair_error_ns, static_cast<double>(times.end_ns - times.start_ns)));
      continue;
    }
    arrivals.add(other.half->rank, theirs.begin);
  }
  if (!known)
    return std::nullopt;
  std::int64_t length_ns = times.end_ns - times.start_ns;
  std::int64_t wait_ns = std::clamp<std::int64_t>(arrivals.last_ns() - times.aligned_start_ns, 0,
                                                  std::max<std::int64_t>(0, length_ns));
  if (arrivals.last_rank() != rank)
    error_ns = std::max(error_ns, clocks.pair_error_ns(rank, arrivals.last_rank(), at_ns));
  else if (arrivals.second_rank() >= 0) // may have come after this one
    error_ns =
        std::max(error_ns, clocks.pair_error_ns(rank, arrivals.second_rank(), at_ns) -
                               static_cast<double>(arrivals.last_ns() - arrivals.second_ns()));
  MessageWait out{times.start_ns + wait_ns, error_ns};
  if (arrivals.last_rank() == rank || wait_ns == 0)
    return out;
  Aligned wait{static_cast<double>(wait_ns), out.error_ns};
  if (!wait.is_shown())
    return out;
  RankMessages::For& last = waits.waited_for[arrivals.last_rank()];
  ++last.kernels;
  add(last.wait, wait);
  std::int64_t until_ns = times.aligned_start_ns + wait_ns;
  Aligned delay{static_cast<double>(std::max<std::int64_t>(0, until_ns - arrivals.second_ns())),
                clocks.pair_error_ns(arrivals.last_rank(), arrivals.second_rank(), at_ns)};
  if (delay.value_ns == 0 || !delay.is_shown())
    return out;
  add(last.delay, delay);
  last.delay_by_block.resize(blocks);
  last.delay_by_block.at(block) += delay.value_ns;
  return out;
}

namespace {

// `of_ranks`: by rank; null if it has no messages in the cell.
MessageWaits::OfCell sum_cell(const std::vector<int>& ranks,
                              const std::vector<const RankMessages::Waits*>& of_ranks,
                              bool per_step) {
  MessageWaits::OfCell out;
  std::uint64_t kernels = 0;
  std::map<int, MessageWaits::OfRank> found;
  std::map<int, std::vector<double>> sums; // of delays, by awaited rank and block
  std::vector<double> steps;               // in each block, of the rank that has most
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (of_ranks[i] == nullptr)
      continue;
    const RankMessages::Waits& one = *of_ranks[i];
    kernels += one.kernels;
    steps.resize(std::max(steps.size(), one.steps_by_block.size()));
    for (std::size_t k = 0; k < one.steps_by_block.size(); ++k)
      steps[k] = std::max(steps[k], one.steps_by_block[k]);
    if (one.kernels > 0)
      found[ranks[i]].rank = ranks[i];
    double most_ns = 0;
    for (const auto& [other, waited] : one.waited_for) {
      MessageWaits::OfRank& own = found[ranks[i]];
      own.kernels += waited.kernels;
      add(own.wait, waited.wait);
      if (waited.wait.value_ns > most_ns) {
        most_ns = waited.wait.value_ns;
        own.most_for = other;
      }
      MessageWaits::OfRank& awaited = found[other];
      awaited.rank = other;
      awaited.times_awaited += waited.kernels;
      add(awaited.delay, waited.delay);
      auto& sum = sums[other];
      sum.resize(std::max(sum.size(), waited.delay_by_block.size()));
      for (std::size_t k = 0; k < waited.delay_by_block.size(); ++k)
        sum[k] += waited.delay_by_block[k];
    }
  }
  out.steps = per_step
                  ? static_cast<std::uint64_t>(std::accumulate(steps.begin(), steps.end(), 0.0))
                  : kernels;
  if (out.steps == 0)
    return out;
  std::vector<std::vector<double>> by_rank;
  for (auto& [rank, one] : found) {
    divide(one.wait, static_cast<double>(out.steps));
    divide(one.delay, static_cast<double>(out.steps));
    by_rank.push_back(sums[rank]);
    by_rank.back().resize(steps.size());
  }
  for (std::size_t k = steps.size(); k-- > 0;)
    if (steps[k] == 0) { // chance could draw these alone
      const auto at = static_cast<std::ptrdiff_t>(k);
      steps.erase(steps.begin() + at);
      for (std::vector<double>& sum : by_rank)
        sum.erase(sum.begin() + at);
    }
  std::vector<std::optional<Interval>> intervals(by_rank.size());
  if (per_step)
    intervals = bootstrap_per_step(by_rank, steps);
  std::size_t next = 0;
  for (auto& [rank, one] : found) {
    if (one.times_awaited > 0)
      one.delay_interval = intervals[next];
    ++next;
    out.ranks.push_back(one);
  }
  return out;
}

} // namespace

MessageWaits sum_message_waits(const std::vector<int>& ranks,
                               const std::vector<RankMessages>& of_ranks, bool per_step) {
  MessageWaits out;
  out.per_step = per_step;
  ByCell<std::vector<const RankMessages::Waits*>> cells;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    out.all.add(of_ranks[i]);
    for (const auto& [cell, waits] : of_ranks[i].cells) {
      cells[cell].resize(ranks.size());
      cells[cell][i] = &waits;
    }
  }
  for (const auto& [cell, waits] : cells)
    out.cells[cell] = sum_cell(ranks, waits, per_step);
  return out;
}

} // namespace ncclprobe::analysis::timeline
