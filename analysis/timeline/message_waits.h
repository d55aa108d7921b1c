// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/messages.h"
#include "analysis/timeline/stragglers.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Which ranks wait for which in sends and receives. A receive waits until its send has begun, a
// send until its receive has; a kernel with several of them waits for the last rank that it needs.
// Formulas: docs/method.md, "The timeline".
namespace ncclprobe::analysis::timeline {

// An unmatched side of a message.
struct UnmatchedHalf {
  MatchState match = MatchState::alone;
  bool sends = false;
  int rank = -1;
  int peer = -1; // as MessageHalf::peer
  std::uint64_t number = 0;
  StepKey step;
};
inline constexpr std::size_t k_most_unmatched_named = 8;

// Times of one rank's kernels on its own clock and on the common one.
struct KernelTimes {
  std::int64_t start_ns = 0, end_ns = 0; // rank's
  std::int64_t aligned_start_ns = 0, aligned_end_ns = 0;
};

// For one rank. Counts over the steps, if there are any.
struct RankMessages {
  std::array<std::uint64_t, k_match_states> halves{}; // by MatchState
  std::uint64_t clock_unknown = 0; // sides with a rank whose clock was not compared
  std::uint64_t kernels = 0;       // with sides of messages
  std::uint64_t kernels_untold = 0;
  std::uint64_t without_kernel = 0;
  // Sends that ended before their receive began, as small ones may: they did not wait.
  std::uint64_t sent_ahead = 0;
  std::vector<UnmatchedHalf> unmatched; // the first ones

  // Waits longer than twice the clocks' error, by the awaited rank.
  struct For {
    std::uint64_t kernels = 0;
    Aligned wait;
    // The gain if it arrived with the next-slowest rank that the kernels need.
    Aligned delay;
    std::vector<double> delay_by_block; // of blocks of steps
  };
  struct Waits {
    std::uint64_t kernels = 0; // with halves
    std::map<int, For> waited_for;
    std::vector<double> steps_by_block; // number of steps with sends or receives, in each block
  };
  ByCell<Waits> cells;
  PhysicsCheck physics; // no receive ends before its send has begun

  std::uint64_t unmatched_halves() const;
  void add(const RankMessages& other); // except cells
};
NCCLPROBE_FIELDS(RankMessages, kernels, clock_unknown, kernels_untold, without_kernel, sent_ahead,
                 physics)

// A kernel's wait.
struct MessageWait {
  std::int64_t ready_ns = 0; // rank's clock: all that it needs had begun
  double error_ns = 0;       // because of the error of other hosts' clocks
};
// Nothing if one of the kernel's sides is not matched; then all its time counts as transfer.
// `halves`: those of the kernel. `block`: of the step, of `blocks`.
std::optional<MessageWait> wait_of_kernel(const MessageTable& table, const Clocks& clocks, int rank,
                                          std::span<const MessageHalf> halves,
                                          const KernelTimes& times, const StepKey& step,
                                          std::size_t block, std::size_t blocks,
                                          RankMessages& into);

// Over all ranks, per step with sends or receives; if the trace has no steps, per such kernel.
struct MessageWaits {
  RankMessages all; // counts
  bool per_step = true;
  struct OfRank {
    int rank = 0;
    std::uint64_t kernels = 0; // that waited
    Aligned wait;
    int most_for = -1; // the rank that caused most of it
    std::uint64_t times_awaited = 0;
    Aligned delay; // reduction of the others' waits if it arrived with the next-slowest rank
    std::optional<Interval> delay_interval; // 95%, bootstrap over blocks of steps
  };
  struct OfCell {
    std::uint64_t steps = 0;   // or kernels
    std::vector<OfRank> ranks; // participating ones, ascending
  };
  ByCell<OfCell> cells;
};
// `of_ranks`: by rank, as ranks are ordered.
MessageWaits sum_message_waits(const std::vector<int>& ranks,
                               const std::vector<RankMessages>& of_ranks, bool per_step);

} // namespace ncclprobe::analysis::timeline
