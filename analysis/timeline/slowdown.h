// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/timeline/rank_trace.h"
#include "analysis/timeline/thinned.h"
#include "analysis/timeline/time_parts.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// Does computation take longer while communication runs, and the reverse? Compares the same
// kernel's durations with and without overlap.
namespace ncclprobe::analysis::timeline {

// Kernels that should take the same time: one name, one operation of the schedule, and one node of
// a graph, else one grid size; NCCL's with one number of elements.
struct KernelKind {
  bool communication = false;
  std::uint32_t name = 0;
  std::int32_t cell = -1;
  std::int32_t operation_index = -1; // -1: no operation
  std::uint32_t shape = 0;           // DeviceActivity::shape
  auto operator<=>(const KernelKind&) const = default;
};

// Durations, ns. For communication without its wait. overlapped: at least half of it overlapped;
// alone: none of it; kernels between are in neither group.
struct Durations {
  Thinned overlapped;
  Thinned alone;
  double sum_ns = 0; // of all, including those between
  double overlapped_sum_ns = 0;
  double alone_sum_ns = 0;
  // Their possible common error, from the clocks' error: for waits.
  double overlapped_error_ns = 0;
  double alone_error_ns = 0;
};
using DurationsByKind = std::map<KernelKind, Durations>;

// Within the steps, if there are any, and only where the kernels beside were recorded.
DurationsByKind durations_of(const Activities& activities, const OperationIndex& operations,
                             const BusySets& busy);
void add(DurationsByKind& to, const DurationsByKind& from);

inline constexpr std::uint64_t k_fewest_for_slowdown = 10; // of each of the two

struct Slowdown {
  KernelKind kind;
  std::uint64_t overlapped = 0, alone = 0; // how many
  int alone_cell = -1;                     // where the latter ran
  std::optional<double> ratio;             // geometric means; absent if one group has too few
  std::optional<Interval> interval;        // 95%, over kernels
  double log_standard_error = 0;
  double ratio_error = 0; // possible error of the ratio, from the clocks' error
  double sum_ns = 0;
  double overlapped_sum_ns = 0;
};
// By time, most first. Kinds that were never overlapped are omitted. If a kind rarely ran alone,
// the same operation in the cell that `alone` (TraceSource::alone) names is used.
using AlonePlace = std::function<std::optional<OperationPlace>(const OperationPlace&)>;
std::vector<Slowdown> slowdowns(const DurationsByKind& durations, const AlonePlace& alone = {});

// Kinds with a ratio together: the overlapped time relative to the time that the same work would
// take alone.
struct SlowdownSum {
  std::size_t kinds = 0;
  double overlapped_ns = 0;
  double alone_ns = 0; // overlapped_ns of each kind / its ratio
  double alone_error_ns = 0;
  double alone_variance_ns2 = 0;

  void add(const Slowdown& one); // nothing without a ratio
  std::optional<double> ratio() const {
    return alone_ns > 0 ? std::optional(overlapped_ns / alone_ns) : std::nullopt;
  }
  std::optional<Interval> interval() const; // 95%, over kernels
  double ratio_error() const { return alone_ns > 0 ? *ratio() * alone_error_ns / alone_ns : 0; }
  // A difference from 1 below twice its error counts as none.
  bool is_shown() const { return ratio() && std::abs(*ratio() - 1) >= 2 * ratio_error(); }
};
ByCell<SlowdownSum> sums_of(const std::vector<Slowdown>& slowdowns, bool communication);

// All kinds of one kernel in one cell.
struct KernelSlowdown {
  std::uint32_t name = 0;
  bool communication = false;
  int cell = -1;
  std::size_t kinds = 0;
  std::uint64_t overlapped = 0, alone = 0; // how many, of all kinds
  int alone_cell = -1;                     // where the latter ran, if not in the cell itself
  double sum_ns = 0;
  SlowdownSum sum;
};
// First those with a ratio, most time first.
std::vector<KernelSlowdown> by_kernel(const std::vector<Slowdown>& slowdowns);

} // namespace ncclprobe::analysis::timeline
