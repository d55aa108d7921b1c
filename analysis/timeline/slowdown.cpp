// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/slowdown.h"

#include "analysis/cell_summary.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {
namespace {

// The same few kinds are asked for again and again, and a map takes long.
class KindCache {
public:
  explicit KindCache(DurationsByKind& all) : all_(all) {}
  Durations& find(const KernelKind& kind) {
    std::size_t hash = (kind.name * 31u + static_cast<std::uint32_t>(kind.operation_index)) * 31u +
                       static_cast<std::uint32_t>(kind.cell) + kind.shape * 1009u;
    Entry& entry = entries_[hash % entries_.size()];
    if (entry.durations == nullptr || entry.kind != kind)
      entry = {kind, &all_[kind]};
    return *entry.durations;
  }

private:
  struct Entry {
    KernelKind kind;
    Durations* durations = nullptr;
  };
  DurationsByKind& all_;
  std::vector<Entry> entries_ = std::vector<Entry>(4093);
};

} // namespace

DurationsByKind durations_of(const Activities& activities, const OperationIndex& operations,
                             const BusySets& busy) {
  DurationsByKind out;
  KindCache kinds(out);
  bool has_steps = !operations.steps().empty();
  auto measure = [&](const Activity& activity, Span span, CoverMeter& company) {
    std::int64_t covered = company.covered(span);
    if (span.length() <= 0 || (has_steps && activity.step == k_no_step))
      return;
    const auto* operation = operations.find(activity.operation);
    Durations& durations =
        kinds.find({activity.kind == Class::communication, activity.name,
                    operation != nullptr ? operation->cell : -1,
                    operation != nullptr ? operation->index : -1, activity.shape});
    auto length_ns = static_cast<double>(span.length());
    durations.sum_ns += length_ns;
    if (covered == 0)
      durations.alone.add(length_ns);
    else if (2 * covered >= span.length()) {
      durations.overlapped.add(length_ns);
      durations.overlapped_sum_ns += length_ns;
    }
  };
  std::vector<const Activity*> communication; // in the order in which they stop waiting
  CoverMeter beside_communication(busy.communication);
  for (const Activity& activity : activities.all) {
    if (activity.kind == Class::compute)
      measure(activity, {activity.start_ns, activity.end_ns}, beside_communication);
    else if (activity.kind == Class::communication)
      communication.push_back(&activity);
  }
  std::stable_sort(communication.begin(), communication.end(),
                   [](const Activity* a, const Activity* b) { return a->ready_ns < b->ready_ns; });
  CoverMeter beside_compute(busy.compute);
  for (const Activity* activity : communication)
    measure(*activity, {activity->ready_ns, activity->end_ns}, beside_compute);
  return out;
}

void add(DurationsByKind& to, const DurationsByKind& from) {
  for (const auto& [kind, durations] : from) {
    auto [at, fresh] = to.try_emplace(kind, durations);
    if (fresh)
      continue;
    at->second.overlapped.add(durations.overlapped);
    at->second.alone.add(durations.alone);
    at->second.sum_ns += durations.sum_ns;
    at->second.overlapped_sum_ns += durations.overlapped_sum_ns;
  }
}

std::vector<Slowdown> slowdowns(const DurationsByKind& durations) {
  std::vector<Slowdown> out;
  for (const auto& [kind, of_kind] : durations) {
    if (of_kind.overlapped.seen() == 0)
      continue;
    Slowdown slowdown;
    slowdown.kind = kind;
    slowdown.overlapped = of_kind.overlapped.seen();
    slowdown.alone = of_kind.alone.seen();
    slowdown.sum_ns = of_kind.sum_ns;
    slowdown.overlapped_sum_ns = of_kind.overlapped_sum_ns;
    if (std::min(slowdown.overlapped, slowdown.alone) >= k_fewest_for_slowdown)
      if (auto test =
              welch_ratio(of_kind.overlapped.values(), of_kind.alone.values(), k_confidence)) {
        slowdown.ratio = test->ratio;
        slowdown.interval = test->interval;
      }
    out.push_back(slowdown);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Slowdown& a, const Slowdown& b) { return a.sum_ns > b.sum_ns; });
  return out;
}

SlowdownSum sum_of(const std::vector<Slowdown>& slowdowns, bool communication) {
  SlowdownSum sum;
  for (const Slowdown& slowdown : slowdowns) {
    if (!slowdown.ratio || slowdown.kind.communication != communication)
      continue;
    ++sum.kinds;
    sum.overlapped_ns += slowdown.overlapped_sum_ns;
    sum.alone_ns += slowdown.overlapped_sum_ns / *slowdown.ratio;
  }
  return sum;
}

} // namespace ncclprobe::analysis::timeline
