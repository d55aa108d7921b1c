// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/slowdown.h"

#include "analysis/cell_summary.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {
namespace {

struct Stretch {
  Span span; // what is compared
  const Activity* activity;
};

void sort_by_begin(std::vector<Stretch>& stretches) {
  auto earlier = [](const Stretch& a, const Stretch& b) { return a.span.begin < b.span.begin; };
  if (!std::is_sorted(stretches.begin(), stretches.end(), earlier))
    std::sort(stretches.begin(), stretches.end(), earlier);
}

// When any of them ran, waits and all.
Spans set_of(const std::vector<Stretch>& stretches) {
  Spans spans;
  spans.reserve(stretches.size());
  for (const Stretch& stretch : stretches)
    spans.push_back({stretch.activity->start_ns, stretch.activity->end_ns});
  return unite(std::move(spans));
}

} // namespace

DurationsByKind durations_of(const Activities& activities, const OperationIndex& operations) {
  std::vector<Stretch> computation, communication;
  for (const Activity& activity : activities.all) {
    if (activity.kind == Class::compute)
      computation.push_back({{activity.start_ns, activity.end_ns}, &activity});
    else if (activity.kind == Class::communication)
      communication.push_back({{activity.ready_ns, activity.end_ns}, &activity});
  }
  sort_by_begin(communication);
  bool has_steps = !operations.steps().empty();
  DurationsByKind out;
  KernelKind last_kind;
  Durations* last = nullptr;
  auto measure = [&](const std::vector<Stretch>& stretches, const Spans& company) {
    CoverMeter meter(company);
    for (const Stretch& stretch : stretches) {
      std::int64_t covered = meter.covered(stretch.span);
      const Activity& activity = *stretch.activity;
      std::int64_t length_ns = stretch.span.length();
      if (length_ns <= 0 || (has_steps && activity.step == k_no_step))
        continue;
      const auto* operation = operations.find(activity.operation);
      KernelKind kind{activity.kind == Class::communication, activity.name,
                      operation != nullptr ? operation->cell : -1,
                      operation != nullptr ? operation->index : -1};
      if (last == nullptr || kind != last_kind) {
        last = &out[kind];
        last_kind = kind;
      }
      last->sum_ns += static_cast<double>(length_ns);
      if (covered == 0)
        last->alone.add(static_cast<double>(length_ns));
      else if (2 * covered >= length_ns)
        last->overlapped.add(static_cast<double>(length_ns));
    }
  };
  measure(computation, set_of(communication));
  measure(communication, set_of(computation));
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

} // namespace ncclprobe::analysis::timeline
