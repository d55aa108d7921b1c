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

// Which ranks come late to collectives, and the cost for the others.
namespace ncclprobe::analysis::timeline {

// When each rank started some of the collectives: one of each group, so all ranks' starts fit
// into a given memory.
class StartSample {
public:
  // At most `most` starts of all ranks together.
  StartSample(std::size_t collectives, std::size_t ranks, std::size_t most = std::size_t{1} << 20);
  // For any thread; each thread needs other ranks.
  void note(std::size_t collective, std::size_t rank_index, std::int64_t start_ns);

  std::size_t size() const { return starts_.size() / std::max<std::size_t>(1, ranks_); }
  std::size_t collective(std::size_t i) const { return drawn_of_stretch(i, every_, collectives_); }
  // Nothing: the rank did not take part in it.
  std::optional<std::int64_t> start(std::size_t i, std::size_t rank_index) const;

private:
  std::size_t ranks_;
  std::size_t collectives_;
  std::size_t every_ = 1;
  std::vector<std::int64_t> starts_;
};

// max_r s - min_r s over the collectives in which two ranks or more took part.
struct StartSkew {
  std::uint64_t collectives = 0;
  std::uint64_t complete = 0; // of these, seen on all of their ranks as far as known
  std::uint64_t single = 0;   // seen on one rank only: not among them
  std::optional<Aligned> median, p99, largest;
  std::optional<Interval> median_interval, p99_interval; // 95%, bootstrap over blocks of steps
};

// In a collective that needs all ranks, none can end before the last has begun. A violation shows
// an error of the clocks.
struct PhysicsCheck {
  std::uint64_t checked = 0;
  std::uint64_t made_the_clocks = 0; // not checked
  std::uint64_t violations = 0;
  std::uint64_t beyond_bound = 0;              // by more than the clocks' stated error
  std::optional<std::int64_t> worst_margin_ns; // min_r e - max_r s, the smallest

  // More contradict the clocks than single wrong events explain: no comparison of ranks holds.
  bool clocks_are_wrong() const { return 100 * beyond_bound > checked; }
};
NCCLPROBE_FIELDS(PhysicsCheck, checked, made_the_clocks, violations, beyond_bound, worst_margin_ns)

struct Straggler {
  int rank = 0;
  std::uint64_t collectives = 0; // sampled collectives in which it took part
  // median over collectives of s - median_j s_j; absent where its clock is unknown or it has none
  std::optional<Aligned> lateness;
  std::optional<Interval>
      lateness_interval; // 95%, over blocks of steps; only for a significant lateness
  // lateness / (1.4826 x its own median absolute deviation); absent if all values are equal, or if
  // the lateness is not significant
  std::optional<double> score;
  // 95%, bootstrap over blocks of steps; an end is infinite if draws do not scatter.
  std::optional<Interval> score_interval;
  // For all collectives that are seen on all of their ranks, delays above twice the clocks' error.
  std::uint64_t times_last = 0;
  // Sum over these of (last start - second last start), per step: the gain if it arrived with the
  // next-slowest rank.
  Aligned delay;
  std::optional<Interval> delay_interval; // 95%, bootstrap over blocks of steps
  // By step (without steps, by collective); nothing if it was never last.
  std::optional<RecurringLateness> recurring;
  // Mean delay per step, in ns, in each stretch of Stragglers::stretches; empty if it was never
  // last.
  std::vector<double> delay_by_stretch_ns;
};

// For the collectives of one cell.
struct Stragglers {
  StartSkew skew;
  std::uint64_t steps = 0; // number with such collectives; without steps, number of collectives
  bool per_step = true;    // false: the trace has no steps, delays are per collective
  std::size_t sampled = 0; // collectives behind the lateness
  // How many of these steps each stretch has, in their order.
  std::vector<std::size_t> stretches;
  std::vector<Straggler> ranks;
};

ByCell<Stragglers> find_stragglers(const CollectiveTable& table, const StartSample& sample,
                                   const std::vector<int>& ranks, const Clocks& clocks);

PhysicsCheck check_physics(const CollectiveTable& table, const Clocks& clocks);

} // namespace ncclprobe::analysis::timeline
