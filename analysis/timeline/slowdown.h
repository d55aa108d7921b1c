// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/inference.h"
#include "analysis/timeline/step_parts.h"
#include "analysis/timeline/thinned.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// Does computation take longer while communication runs, and the reverse? The same kernel's
// durations with and without company are compared.
namespace ncclprobe::analysis::timeline {

// Kernels that should take the same time: of one name and one operation of the schedule.
struct KernelKind {
  bool communication = false;
  std::uint32_t name = 0;
  std::int32_t cell = -1;
  std::int32_t operation_index = -1; // -1: of no operation
  auto operator<=>(const KernelKind&) const = default;
};

// Durations, ns. Of communication without its wait. overlapped: at least half of it had company;
// alone: none of it; what is between is in neither.
struct Durations {
  Thinned overlapped;
  Thinned alone;
  double sum_ns = 0; // of all, the ones between too
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
  std::optional<double> ratio;             // geometric means; absent where one has too few
  std::optional<Interval> interval;        // 95%, over kernels
  double sum_ns = 0;
};
// By time, most first. Kinds that were never overlapped are left out.
std::vector<Slowdown> slowdowns(const DurationsByKind& durations);

} // namespace ncclprobe::analysis::timeline
