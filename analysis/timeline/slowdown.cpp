// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/slowdown.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis::timeline {
namespace {

// The same few kinds are looked up again and again, and a map is slow.
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
  auto measure = [&](const DeviceActivity& activity, Span span, CoverMeter& company) {
    std::int64_t covered = company.covered(span);
    if (span.length() <= 0 || !activity.company_is_known ||
        (has_steps && activity.step == k_no_step))
      return;
    const auto* operation = operations.find(activity.operation);
    Durations& durations =
        kinds.find({activity.kind == Class::communication, activity.name,
                    operation != nullptr ? operation->cell : -1,
                    operation != nullptr ? operation->index : -1, activity.shape});
    auto length_ns = static_cast<double>(span.length());
    durations.sum_ns += length_ns;
    if (covered == 0) {
      durations.alone.add(length_ns);
      durations.alone_sum_ns += length_ns;
      durations.alone_error_ns += activity.ready_error_ns;
    } else if (2 * covered >= span.length()) {
      durations.overlapped.add(length_ns);
      durations.overlapped_sum_ns += length_ns;
      durations.overlapped_error_ns += activity.ready_error_ns;
    }
  };
  std::vector<const DeviceActivity*> communication; // in the order in which they stop waiting
  CoverMeter beside_communication(busy.communication);
  for (const DeviceActivity& activity : activities.all) {
    if (activity.kind == Class::compute)
      measure(activity, {activity.start_ns, activity.end_ns}, beside_communication);
    else if (activity.kind == Class::communication)
      communication.push_back(&activity);
  }
  std::stable_sort(
      communication.begin(), communication.end(),
      [](const DeviceActivity* a, const DeviceActivity* b) { return a->ready_ns < b->ready_ns; });
  CoverMeter beside_compute(busy.compute);
  for (const DeviceActivity* activity : communication)
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
    at->second.alone_sum_ns += durations.alone_sum_ns;
    at->second.overlapped_error_ns += durations.overlapped_error_ns;
    at->second.alone_error_ns += durations.alone_error_ns;
  }
}

namespace {

// Where a kind ran alone.
std::pair<int, const Durations*> alone_of(const KernelKind& kind, const Durations& own,
                                          const DurationsByKind& all, const AlonePlace& alone) {
  if (own.alone.seen() >= k_fewest_for_slowdown || !alone || kind.operation_index < 0)
    return {kind.cell, &own};
  const auto place = alone({kind.cell, kind.operation_index});
  if (!place)
    return {kind.cell, &own};
  KernelKind twin = kind;
  twin.cell = place->cell;
  twin.operation_index = place->index;
  auto found = all.find(twin);
  if (found == all.end() || found->second.alone.seen() <= own.alone.seen())
    return {kind.cell, &own};
  return {twin.cell, &found->second};
}

// All durations of a side may be wrong by their error in one direction, those of the two sides in
// opposite directions.
double relative_error(const Durations& overlapped, const Durations& alone) {
  return overlapped.overlapped_error_ns / overlapped.overlapped_sum_ns +
         alone.alone_error_ns / alone.alone_sum_ns;
}

} // namespace

std::vector<Slowdown> slowdowns(const DurationsByKind& durations, const AlonePlace& alone_place) {
  std::vector<Slowdown> out;
  for (const auto& [kind, of_kind] : durations) {
    if (of_kind.overlapped.seen() == 0)
      continue;
    const auto [alone_cell, alone] = alone_of(kind, of_kind, durations, alone_place);
    Slowdown slowdown;
    slowdown.kind = kind;
    slowdown.overlapped = of_kind.overlapped.seen();
    slowdown.alone = alone->alone.seen();
    slowdown.alone_cell = alone_cell;
    slowdown.sum_ns = of_kind.sum_ns;
    slowdown.overlapped_sum_ns = of_kind.overlapped_sum_ns;
    if (std::min(slowdown.overlapped, slowdown.alone) >= k_fewest_for_slowdown)
      if (auto test =
              welch_ratio(of_kind.overlapped.values(), alone->alone.values(), k_confidence)) {
        slowdown.ratio = test->ratio;
        slowdown.interval = test->interval;
        slowdown.log_standard_error = test->log_standard_error;
        slowdown.ratio_error = test->ratio * relative_error(of_kind, *alone);
      }
    out.push_back(slowdown);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Slowdown& a, const Slowdown& b) { return a.sum_ns > b.sum_ns; });
  return out;
}

void SlowdownSum::add(const Slowdown& one) {
  if (!one.ratio)
    return;
  ++kinds;
  const double alone = one.overlapped_sum_ns / *one.ratio;
  overlapped_ns += one.overlapped_sum_ns;
  alone_ns += alone;
  alone_error_ns += alone * one.ratio_error / *one.ratio;
  alone_variance_ns2 += alone * alone * one.log_standard_error * one.log_standard_error;
}

std::optional<Interval> SlowdownSum::interval() const {
  if (!ratio())
    return std::nullopt;
  constexpr double k_normal = 1.959964; // many kernels each, hence no Student's t
  const double factor = std::exp(k_normal * std::sqrt(alone_variance_ns2) / alone_ns);
  return Interval{*ratio() / factor, *ratio() * factor};
}

ByCell<SlowdownSum> sums_of(const std::vector<Slowdown>& slowdowns, bool communication) {
  ByCell<SlowdownSum> sums;
  for (const Slowdown& slowdown : slowdowns)
    if (slowdown.kind.communication == communication)
      sums[slowdown.kind.cell].add(slowdown);
  return sums;
}

std::vector<KernelSlowdown> by_kernel(const std::vector<Slowdown>& slowdowns) {
  std::map<std::tuple<bool, std::uint32_t, int>, KernelSlowdown> kernels;
  for (const Slowdown& one : slowdowns) {
    const KernelKind& kind = one.kind;
    KernelSlowdown& kernel = kernels[{kind.communication, kind.name, kind.cell}];
    kernel.name = kind.name;
    kernel.communication = kind.communication;
    kernel.cell = kind.cell;
    ++kernel.kinds;
    kernel.overlapped += one.overlapped;
    kernel.alone += one.alone;
    if (one.alone_cell >= 0 && one.alone_cell != kind.cell)
      kernel.alone_cell = one.alone_cell;
    kernel.sum_ns += one.sum_ns;
    kernel.sum.add(one);
  }
  std::vector<KernelSlowdown> out;
  for (auto& [key, kernel] : kernels)
    out.push_back(kernel);
  std::ranges::stable_sort(out, [](const KernelSlowdown& a, const KernelSlowdown& b) {
    const bool a_has = a.sum.kinds > 0, b_has = b.sum.kinds > 0;
    return a_has != b_has ? a_has : a.sum_ns > b.sum_ns;
  });
  return out;
}

} // namespace ncclprobe::analysis::timeline
