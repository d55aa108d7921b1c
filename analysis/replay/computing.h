// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/intervals.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// The computing of one rank between its calls, from the times of the calls alone: docs/method.md,
// "Replayed jobs". Waiting for other ranks is no part of it, because it is inside of operations.
namespace ncclprobe::analysis::replay {

struct TimedCall {
  std::int64_t begin_ns = 0, end_ns = 0; // on the GPU
  std::int64_t called_ns = 0;            // on the host, by the same clock
};

struct TimedStep {
  std::int64_t begun_ns = 0;         // all operations of the step before have ended
  std::int64_t called_before_ns = 0; // its last call
  std::vector<TimedCall> calls;
  std::int64_t end_ns() const;
};

// What is launched together, and where.
struct UnitPlace {
  std::size_t first = 0, last = 0; // calls
  int communicator = 0;
};

struct UnitTimes {
  std::int64_t begin_ns = 0, end_ns = 0, called_ns = 0;
};
UnitTimes times_of(const UnitPlace& unit, const TimedStep& step);

// An operation that begins this soon after the one before it on its stream was ready before that.
// On a busy GPU NCCL's queued kernels begin up to 55 us after each other.
inline constexpr std::int64_t k_queued_ns = 100'000;

// Mean distance from the median: steps in which a rank came late are few, and tell most.
double spread_of(const std::vector<double>& values);

// Whether computing waits for the operations of a communicator, or goes on when they have begun.
// Steps tell: if an operation that takes longer delays the next one by as much, computing waited.
class WaitSigns {
public:
  // The steps of one rank.
  void add(const std::vector<UnitPlace>& units, const std::vector<TimedStep>& steps);
  // Nothing: operations take equally long in all steps, or nothing follows them.
  std::optional<bool> waits(int communicator) const;

private:
  // Sums of the spreads of what follows an operation: since its begin, and since its end.
  struct Spreads {
    double since_begin_ns = 0, since_end_ns = 0;
  };
  std::map<int, Spreads> spreads_; // by communicator
};

// Kernels of a rank that compute. Sets of times.
struct RecordedKernels {
  timeline::Spans known; // all kernels in these times were recorded
  timeline::Spans computing;
  // Time in which it computed; nothing if not all of it was recorded.
  std::optional<double> computing_ns(timeline::Span in) const;
};

// The computing before each unit: medians over steps, ns. `waited`: of each unit.
struct Computing {
  std::vector<double> before_ns;
  std::vector<double> of_step_ns;            // all of it, in each step
  std::vector<std::vector<double>> steps_ns; // of each step, by unit
};
Computing computing_of(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                       const std::vector<TimedStep>& steps, const RecordedKernels& kernels);

} // namespace ncclprobe::analysis::replay
