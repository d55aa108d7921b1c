// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/kernel_windows.h"

#include "analysis/timeline/input_waits.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::int64_t k_most_shift_ns = 1'000'000; // between the two clocks
constexpr std::int64_t k_bin_ns = 2'000;
// NCCL's channels begin and end within their kernel, by about this.
constexpr std::int64_t k_margin_ns = 15'000;

bool is_in(const trace::KernelWindowRow& window, std::uint64_t at_ns) {
  return at_ns >= window.start_ns && at_ns <= window.end_ns;
}

Spans communication_kernels(const RankTrace& trace) {
  const Spans all = spans_of(trace.kernels, trace::Table::kernel, trace.long_durations);
  Spans found;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i < trace.kernels.flags.size() && (trace.kernels.flags[i] & trace::k_communication) != 0 &&
        (trace.kernels.flags[i] & trace::k_no_times) == 0)
      found.push_back(all[i]);
  std::ranges::sort(found, {}, &Span::begin);
  return found;
}

// Whether an operation of this length can be all of the kernel.
bool may_be(const Span& kernel, const Span& operation) {
  return kernel.length() >= operation.length() &&
         kernel.length() <= operation.length() + 2 * k_margin_ns;
}

// The difference that most pairs of an operation and a kernel of its length have in common.
std::optional<std::int64_t> common_shift(const Spans& kernels, const Spans& operations) {
  std::map<std::int64_t, std::size_t> bins;
  for (const Span& operation : operations) {
    auto kernel =
        std::ranges::lower_bound(kernels, operation.begin - k_most_shift_ns, {}, &Span::begin);
    for (; kernel != kernels.end() && kernel->begin <= operation.begin + k_most_shift_ns; ++kernel)
      if (may_be(*kernel, operation)) {
        const std::int64_t middle_ns =
            (kernel->begin + kernel->end) / 2 - (operation.begin + operation.end) / 2;
        ++bins[middle_ns / k_bin_ns];
      }
  }
  std::optional<std::int64_t> best;
  std::size_t most = 0;
  for (const auto& [bin, count] : bins) {
    const auto next = bins.find(bin + 1);
    const std::size_t with_next = count + (next == bins.end() ? 0 : next->second);
    const bool closer = best && std::abs(bin) < std::abs(*best / k_bin_ns);
    if (with_next > most || (with_next == most && closer)) {
      most = with_next;
      best = (bin + 1) * k_bin_ns;
    }
  }
  return best;
}

} // namespace

void take_kernel_times(const RankTrace& trace, Activities& activities) {
  for (DeviceActivity& activity : activities.all)
    activity.company_is_known = activity.nccl == 0;
  const Spans kernels = communication_kernels(trace);
  for (const trace::KernelWindowRow& window : trace.kernel_windows) {
    std::vector<DeviceActivity*> inside;
    Spans operations;
    for (DeviceActivity& activity : activities.all)
      if (activity.nccl != 0 &&
          is_in(window, trace.nccl_operations[activity.nccl - 1].enqueue_ns)) {
        activity.company_is_known = true;
        inside.push_back(&activity);
        operations.push_back({activity.start_ns, activity.end_ns});
      }
    const auto shift_ns = common_shift(kernels, operations);
    if (!shift_ns)
      continue;
    for (DeviceActivity* activity : inside) {
      const Span moved{activity->start_ns + *shift_ns, activity->end_ns + *shift_ns};
      auto after = std::ranges::upper_bound(kernels, moved.begin + k_margin_ns, {}, &Span::begin);
      const Span* found = nullptr;
      for (int tries = 0; tries < 8 && after != kernels.begin(); ++tries) {
        --after;
        // A group of operations is one kernel, longer than each of them.
        if (after->begin <= moved.begin + k_margin_ns && after->end + k_margin_ns >= moved.end) {
          found = &*after;
          break;
        }
      }
      if (found == nullptr)
        continue;
      const std::int64_t waited_ns = activity->ready_ns - activity->start_ns;
      activity->start_ns = found->begin;
      activity->end_ns = std::max(found->begin, found->end);
      activity->ready_ns = std::min(activity->start_ns + waited_ns, activity->end_ns);
    }
  }
  std::ranges::stable_sort(activities.all, {}, &DeviceActivity::start_ns);
}

std::vector<bool> steps_with_kernels(const RankTrace& trace, const OperationIndex& operations,
                                     const StepWindows& steps) {
  std::vector<bool> shown(steps.keys.size());
  if (trace.kernel_windows.empty())
    return shown;
  std::vector<const trace::NcclOperationRow*> rows;
  for (const trace::NcclOperationRow& row : trace.nccl_operations)
    rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [](const auto* row) { return row->enqueue_ns; });
  struct Extent {
    std::uint64_t before_ns = 0, after_ns = 0; // enqueued; 0: nothing
  };
  std::map<StepKey, Extent> extents;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t step = operations.step_of(rows[i]->operation);
    if (step == k_no_step)
      continue;
    auto [place, is_new] = extents.try_emplace(operations.steps()[step]);
    if (is_new)
      place->second.before_ns = i > 0 ? rows[i - 1]->enqueue_ns : 0;
    place->second.after_ns = i + 1 < rows.size() ? rows[i + 1]->enqueue_ns : 0;
  }
  for (std::size_t k = 0; k < shown.size(); ++k)
    if (const auto found = extents.find(steps.keys[k]); found != extents.end())
      shown[k] = std::ranges::any_of(trace.kernel_windows, [&](const auto& window) {
        return is_in(window, found->second.before_ns) && is_in(window, found->second.after_ns);
      });
  return shown;
}

std::vector<IdleParts> idle_parts(const RankTrace& trace, const BusySets& busy,
                                  const Spans& loading, const Spans& windows) {
  Spans any = busy.compute;
  for (const Spans* set : {&busy.communication, &busy.memory, &busy.helper})
    any.insert(any.end(), set->begin(), set->end());
  any = unite(std::move(any));
  const Spans inputs = input_waits(trace, any, loading);
  std::vector<IdleParts> out(windows.size());
  CoverMeter waits(inputs);
  for (std::size_t k = 0; k < windows.size(); ++k) {
    std::int64_t idle_since = windows[k].begin;
    auto add = [&](std::int64_t until) {
      const Span idle{idle_since, std::min(until, windows[k].end)};
      if (idle.length() <= 0)
        return;
      const std::int64_t input_ns = waits.covered(idle);
      out[k].input_ns += input_ns;
      (idle.length() > k_launch_gap_ns ? out[k].host_late_ns : out[k].launch_ns) +=
          idle.length() - input_ns;
    };
    auto at = std::ranges::lower_bound(any, windows[k].begin, std::less_equal{}, &Span::end);
    for (; at != any.end() && at->begin < windows[k].end; ++at) {
      add(at->begin);
      idle_since = std::max(idle_since, at->end);
    }
    add(windows[k].end);
  }
  return out;
}

} // namespace ncclprobe::analysis::timeline
