// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/clocks.h"
#include "analysis/timeline/rank_trace.h"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

// Converts a rank's tables into its device's activities, in order of time, and into the steps that
// contain them.
namespace ncclprobe::analysis::timeline {

// One launch of the timed region.
struct StepKey {
  std::int32_t cell = -1; // -1: the trace has no steps, this is all of it
  std::int32_t batch = -1;
  std::uint32_t iteration = 0;
  auto operator<=>(const StepKey&) const = default;
};

inline constexpr std::uint32_t k_no_step = UINT32_MAX;

// Figures of equal steps: only the steps of one cell share means and sums. -1: the trace has no
// steps.
template <typename T>
using ByCell = std::map<int, T>;

// The operations of the schedule by their numbers, and their steps. Refers to the rows given to it.
class OperationIndex {
public:
  explicit OperationIndex(const std::vector<trace::OperationRow>& rows);

  const trace::OperationRow* find(std::uint32_t id) const; // null: none
  std::uint32_t step_of(std::uint32_t id) const;           // index in steps(), k_no_step
  // In the order in which the host enqueued them.
  const std::vector<StepKey>& steps() const { return steps_; }
  // Of a step of steps(), or k_no_step.
  int cell_of(std::uint32_t step) const { return step == k_no_step ? -1 : steps_[step].cell; }

private:
  struct Place {
    std::uint32_t row = 0; // + 1
    std::uint32_t step = k_no_step;
  };
  const std::vector<trace::OperationRow>* rows_;
  std::vector<Place> places_; // by id
  std::vector<StepKey> steps_;
};

// Kinds of device activity. memory: copies and sets, by anybody. helper: ncclprobe's own.
enum class Class : std::uint8_t { compute, communication, memory, helper };

struct DeviceActivity {
  std::int64_t start_ns = 0; // rank's clock
  std::int64_t end_ns = 0;
  // A collective's last rank had begun: time before that was waiting. start_ns if it is unknown.
  std::int64_t ready_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t operation = 0;
  std::uint32_t correlation = 0;
  std::uint32_t step = k_no_step;
  std::uint32_t shape = 0; // differs if kernels of one name do different work
  std::uint32_t nccl = 0;  // first joined NcclOperationRow: index + 1; 0: none
  std::uint16_t stream = 0;
  bool company_is_known = true; // kernels beside it were recorded
  Class kind = Class::compute;
  float ready_error_ns = 0; // possible error of ready_ns, from the clocks' error
};

// From the first to the last channel of each NCCL operation, on the rank's clock if the GPU's is
// known. If the GPU reported no times, when the host heard of the channels. By row of
// nccl_operations; empty spans for operations without channels.
struct NcclTimes {
  Spans spans;                         // rank's clock; meaningless where on_rank_clock is false
  std::vector<std::int64_t> length_ns; // GPU times, if there are any
  std::vector<bool> on_rank_clock;     // there is a span
  std::vector<bool> heard;             // its times are when the host heard of it
  std::uint64_t channels_joined = 0;   // NcclChannelRows whose operation is present
};
NcclTimes nccl_times(const RankTrace& trace, const std::optional<ClockModel>& gpu);

struct Activities {
  std::vector<DeviceActivity> all; // by start
  std::uint64_t without_times = 0; // left out
  // No kernels were traced, or only in windows: NCCL's reports of its channels stand for
  // communication.
  bool from_nccl = false;
  std::uint64_t heard =
      0; // of these, with times at which the host heard of them instead of GPU times
};
// When each row of a table ran, rank's clock.
Spans spans_of(const DeviceColumns& columns, trace::Table table,
               const std::vector<trace::LongRow>& long_durations);
// For Pass::collectives only communication.
Activities activities_of(const RankTrace& trace, const OperationIndex& operations,
                         const NcclTimes& nccl, Pass pass = Pass::everything);

// The time of each step: from the first activity of a step to the first of the next; the last step
// of a batch ends with the batch's last activity, or is omitted if `last_are_open`
// (RankTrace::last_steps_are_open). Steps without device activity are omitted. A trace without
// steps is one step.
struct StepWindows {
  Spans windows; // sorted, do not overlap
  std::vector<StepKey> keys;
};
StepWindows step_windows(const Activities& activities, const OperationIndex& operations,
                         bool last_are_open = false);

} // namespace ncclprobe::analysis::timeline
