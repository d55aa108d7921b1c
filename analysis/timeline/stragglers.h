// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/aligned.h"
#include "analysis/timeline/block_bootstrap.h"
#include "analysis/timeline/collectives.h"
#include "analysis/timeline/recurring_lateness.h"

#include <cstdint>
#include <optional>
#include <vector>

// Who comes late to collectives, and what that costs the others.
namespace ncclprobe::analysis::timeline {

// When each rank started some of the collectives: one of each stretch, so that all ranks' starts
// never take more than a given memory.
class StartSample {
public:
  // At most `most` starts of all ranks together.
  StartSample(std::size_t collectives, std::size_t ranks, std::size_t most = std::size_t{1} << 20);
  // Any thread, each for other ranks.
  void note(std::size_t collective, std::size_t rank_index, std::int64_t start_ns);

  std::size_t size() const { return starts_.size() / std::max<std::size_t>(1, ranks_); }
  std::size_t collective(std::size_t i) const { return drawn_of_stretch(i, every_, collectives_); }
  // Nothing: the rank took no part in it.
  std::optional<std::int64_t> start(std::size_t i, std::size_t rank_index) const;

private:
  std::size_t ranks_;
  std::size_t collectives_;
  std::size_t every_ = 1;
  std::vector<std::int64_t> starts_;
};

// max_r s - min_r s over the collectives that two ranks or more took part in.
struct StartSkew {
  std::uint64_t collectives = 0;
  std::uint64_t complete = 0; // of these, seen on all of their ranks as far as is known
  std::uint64_t single = 0;   // seen on one rank only: not among them
  std::optional<Aligned> median, p99, largest;
  std::optional<Interval> median_interval, p99_interval; // 95%, bootstrap over blocks of steps
};

// Of a collective that needs all ranks none can end before the last has begun. One that does shows
// an error of the clocks.
struct PhysicsCheck {
  std::uint64_t checked = 0;
  std::uint64_t served = 0; // not checked: clocks were made from them
  std::uint64_t violations = 0;
  std::uint64_t beyond_bound = 0;              // by more than the clocks' stated error
  std::optional<std::int64_t> worst_margin_ns; // min_r e - max_r s, the least
};

struct Straggler {
  int rank = 0;
  std::uint64_t collectives = 0; // it took part in, of those sampled
  // median over collectives of s - median_j s_j; absent where its clock is unknown or it has none
  std::optional<Aligned> lateness;
  std::optional<Interval> lateness_interval; // 95%, over blocks of steps; only of a shown lateness
  // lateness / (1.4826 x median absolute deviation of its own); absent where they all are the same,
  // or where the lateness is not shown
  std::optional<double> score;
  // 95%, bootstrap over blocks of steps; an end is infinite where draws do not scatter.
  std::optional<Interval> score_interval;
  // Of all collectives that are seen on all of their ranks, by more than twice the clocks' error.
  std::uint64_t times_last = 0;
  // Sum over these of (last start - second last start), per step: what would be gained if it came
  // with the second last.
  Aligned delay;
  std::optional<Interval> delay_interval; // 95%, bootstrap over blocks of steps
  // By Stragglers::lateness_steps; nothing if it was never last.
  std::optional<RecurringLateness> recurring;
};

// Of the collectives of one cell.
struct Stragglers {
  StartSkew skew;
  std::uint64_t steps = 0; // that had such collectives; without steps, collectives
  bool per_step = true;    // false: the trace has no steps, delays are per collective
  // What Straggler::recurring counts: steps, also those that follow from repeated collectives
  // (repeated_steps.h), else collectives.
  std::size_t lateness_steps = 0;
  bool lateness_per_step = true;
  std::size_t repeated_collectives = 0; // in each such step; 0: the trace has steps, or none
  std::size_t sampled = 0;              // collectives that lateness is taken from
  std::vector<Straggler> ranks;
};

ByCell<Stragglers> find_stragglers(const CollectiveTable& table, const StartSample& sample,
                                   const std::vector<int>& ranks, const Clocks& clocks);

PhysicsCheck check_physics(const CollectiveTable& table, const Clocks& clocks);

} // namespace ncclprobe::analysis::timeline
