// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/timeline/rank_trace.h"
#include "analysis/timeline/step_parts.h"
#include "analysis/timeline/thinned.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// Does computation take longer while communication runs, and the reverse? The same kernel's
// durations with and without company are compared.
namespace ncclprobe::analysis::timeline {

// Kernels that should take the same time: of one name, one operation of the schedule, and one node
// of a graph, else one size of grid; NCCL's of one number of elements.
struct KernelKind {
  bool communication = false;
  std::uint32_t name = 0;
  std::int32_t cell = -1;
  std::int32_t operation_index = -1; // -1: of no operation
  std::uint32_t shape = 0;           // Activity::shape
  auto operator<=>(const KernelKind&) const = default;
};

// Durations, ns. Of communication without its wait. overlapped: at least half of it had company;
// alone: none of it; what is between is in neither.
struct Durations {
  Thinned overlapped;
  Thinned alone;
  double sum_ns = 0; // of all, the ones between too
  double overlapped_sum_ns = 0;
  double alone_sum_ns = 0;
  // What these may be wrong by together, because clocks are not known better: of waits.
  double overlapped_error_ns = 0;
  double alone_error_ns = 0;
};
using DurationsByKind = std::map<KernelKind, Durations>;

// Within the steps, where there are some.
DurationsByKind durations_of(const Activities& activities, const OperationIndex& operations,
                             const BusySets& busy);
void add(DurationsByKind& to, const DurationsByKind& from);

inline constexpr std::uint64_t k_fewest_for_slowdown = 10; // of each of the two

struct Slowdown {
  KernelKind kind;
  std::uint64_t overlapped = 0, alone = 0; // how many
  int alone_cell = -1;                     // where the latter ran
  std::optional<double> ratio;             // geometric means; absent where one has too few
  std::optional<Interval> interval;        // 95%, over kernels
  double log_standard_error = 0;
  double ratio_error = 0; // the ratio may be wrong by that, because clocks are not known better
  double sum_ns = 0;
  double overlapped_sum_ns = 0;
};
// By time, most first. Kinds that were never overlapped are left out. Of those that too seldom ran
// alone the same operation in the cell that `alone` (TraceSource::alone) names is taken.
using AlonePlace = std::function<std::optional<OperationPlace>(const OperationPlace&)>;
std::vector<Slowdown> slowdowns(const DurationsByKind& durations, const AlonePlace& alone = {});

// Kinds with a ratio together: the time of what was overlapped, over what it would have been alone.
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
  // A difference from 1 that is not twice its error is not told from none.
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
// First what has a ratio, of these most time first.
std::vector<KernelSlowdown> by_kernel(const std::vector<Slowdown>& slowdowns);

} // namespace ncclprobe::analysis::timeline
