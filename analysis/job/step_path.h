// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

// What a moment of a job waited for, step by step back: the way that decided when it came.
namespace ncclprobe::analysis::job {

inline constexpr double k_notable_scatters = 3;
inline constexpr double k_mostly_slowed = 0.5; // of the excess of a gap

// computing: a rank's, between its operations; host: it had not handed the operation over.
enum class PathCause : std::uint8_t { computing, host, transfer };

struct PathPart {
  PathCause cause = PathCause::computing;
  std::uint32_t rank = 0, operation = 0; // of a transfer: where the way came from
  std::int64_t length_ns = 0;
  double excess_ns = 0; // over what is usual
};

class StepPath {
public:
  StepPath(const StepGraph& graph, const StepRun& run, const MeasuredRun& measured,
           const Typical& typical)
      : graph_(graph), run_(run), measured_(measured), typical_(typical) {}

  // Visits the parts, the last one first, until `visit(part)` returns false. The parts follow each
  // other without a gap.
  template <typename Visit>
  void back_from_end(std::uint32_t rank, std::uint32_t operation, const Visit& visit) const {
    walk({rank, operation, Place::end}, visit);
  }
  template <typename Visit>
  void back_from_begin(std::uint32_t rank, std::uint32_t operation, const Visit& visit) const {
    walk({rank, operation, Place::begin}, visit);
  }

  double excess_of_transfer(std::uint32_t rank, std::uint32_t operation) const {
    const GraphOperation& own = run_.ranks[rank][operation];
    const auto usual = typical_.usual_duration[own.slot];
    return usual ? static_cast<double>(measured_[rank][operation].duration_ns) - *usual : 0;
  }
  // Without what waiting operations made it longer by.
  double excess_of_gap(std::uint32_t rank, std::uint32_t operation) const {
    const MeasuredOperation& one = measured_[rank][operation];
    if (!one.is_clean)
      return 0;
    const std::uint32_t slot = run_.ranks[rank][operation].slot;
    auto usual = typical_.usual_gap[slot];
    if (one.host_bound && typical_.usual_of_gpu[slot])
      usual = typical_.usual_of_gpu[slot];
    return usual ? static_cast<double>(one.undisturbed_gap_ns()) - *usual : 0;
  }

  // Is it more than the usual scatter?
  bool is_notable(const PathPart& part) const {
    const std::uint32_t slot = run_.ranks[part.rank][part.operation].slot;
    const auto scatter = part.cause == PathCause::transfer ? typical_.duration_scatter[slot]
                                                           : typical_.gap_scatter[slot];
    return part.excess_ns > k_notable_scatters * scatter.value_or(0);
  }

private:
  enum class Place : std::uint8_t { begin, ready, end };
  struct At {
    std::uint32_t rank, operation;
    Place place;
  };

  template <typename Visit>
  void walk(At at, const Visit& visit) const {
    for (bool goes_on = true; goes_on;) {
      const GraphOperation& own = run_.ranks[at.rank][at.operation];
      const MeasuredOperation& one = measured_[at.rank][at.operation];
      PathPart part{PathCause::transfer, at.rank, at.operation, 0, 0};
      if (at.place == Place::end) {
        part.length_ns = one.duration_ns;
        part.excess_ns = excess_of_transfer(at.rank, at.operation);
        if (one.waits) {
          const Meeting& meeting = run_.meetings[own.meeting];
          at = {meeting.last_rank, meeting.last_operation, Place::begin};
        } else {
          at.place = Place::begin;
        }
        goes_on = visit(part);
        continue;
      }
      if (at.place == Place::begin && at.operation > 0 && own.with_previous) {
        --at.operation;
        continue;
      }
      if (at.place == Place::begin && one.in_stream != k_nothing) {
        part.length_ns = one.after_stream_ns;
        at = {at.rank, one.in_stream, Place::end};
        goes_on = visit(part);
        continue;
      }
      if (one.is_first)
        return;
      if (is_slowed(own, one)) {
        const Meeting& meeting = longest_wait(at.rank, one);
        part.cause = PathCause::computing;
        part.length_ns = one.ready_ns - meeting.last_begin_ns;
        part.excess_ns = excess_of_gap(at.rank, at.operation);
        at = {meeting.last_rank, meeting.last_operation, Place::begin};
        goes_on = visit(part);
        continue;
      }
      part.cause = host_late_ns(typical_, own, one) > 0 ? PathCause::host : PathCause::computing;
      part.length_ns = one.gap_ns;
      part.excess_ns = excess_of_gap(at.rank, at.operation);
      at = one.after != k_nothing ? At{at.rank, one.after, Place::end}
                                  : At{at.rank, at.operation - 1, Place::ready};
      goes_on = visit(part);
    }
  }

  const Meeting& longest_wait(std::uint32_t rank, const MeasuredOperation& one) const {
    auto meeting = [&](std::uint32_t i) -> const Meeting& {
      return run_.meetings[run_.ranks[rank][i].meeting];
    };
    return meeting(*std::ranges::max_element(one.slowed.beside, {}, [&](std::uint32_t i) {
      return meeting(i).last_begin_ns - run_.ranks[rank][i].begin_ns;
    }));
  }

  // Without the late rank it would have been ready earlier, so the way leads to that one.
  bool is_slowed(const GraphOperation& own, const MeasuredOperation& one) const {
    const auto by_ns = static_cast<double>(one.slowed.by_ns);
    const auto usual = typical_.usual_gap[own.slot];
    return by_ns > k_notable_scatters * typical_.gap_scatter[own.slot].value_or(0) && usual &&
           by_ns >= k_mostly_slowed * (static_cast<double>(one.gap_ns) - *usual);
  }

  const StepGraph& graph_;
  const StepRun& run_;
  const MeasuredRun& measured_;
  const Typical& typical_;
};

} // namespace ncclprobe::analysis::job
