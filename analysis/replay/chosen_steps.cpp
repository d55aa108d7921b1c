// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/chosen_steps.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::replay {
namespace {

constexpr double k_different = 0.05; // interquartile range / median

struct Window {
  std::size_t first = 0;
  double length_ns = 0, exposed_ns = 0;
};

// Indexes of steps; consecutive numbers only.
std::vector<Window> windows_of(const std::vector<StepLength>& steps, std::size_t size) {
  std::vector<Window> windows;
  for (std::size_t first = 0; first + size <= steps.size(); ++first) {
    if (steps[first + size - 1].number - steps[first].number != size - 1)
      continue;
    Window one{first, 0, 0};
    for (std::size_t i = first; i < first + size; ++i) {
      one.length_ns += steps[i].length_ns / static_cast<double>(size);
      one.exposed_ns += steps[i].exposed_ns / static_cast<double>(size);
    }
    windows.push_back(one);
  }
  return windows;
}

} // namespace

std::vector<std::uint32_t> steps_to_compare(const job::FoundSteps& found, std::uint32_t kind) {
  std::vector<std::uint32_t> all;
  for (const job::StepBatch& batch : found.batches)
    for (std::uint32_t i = 1; batch.kind == kind && i < batch.steps; ++i)
      all.push_back(batch.first + i);
  if (all.size() <= k_most_compared_steps)
    return all;
  constexpr std::size_t k_runs = k_most_compared_steps / k_most_replayed_steps;
  std::vector<std::uint32_t> chosen;
  for (std::size_t run = 0; run < k_runs; ++run) {
    const std::size_t first = run * (all.size() - k_most_replayed_steps) / (k_runs - 1);
    chosen.insert(chosen.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(first + k_most_replayed_steps));
  }
  return chosen;
}

std::vector<std::uint32_t> usual_consecutive_steps(const std::vector<StepLength>& steps,
                                                   std::size_t most) {
  std::vector<Window> windows;
  std::size_t size = std::min(most, steps.size());
  for (; size > 0 && windows.empty(); --size)
    windows = windows_of(steps, size);
  ++size;
  if (windows.empty())
    return {};
  // Medians over windows: a single hiccup of the job is in few of them.
  std::vector<double> lengths_ns, exposed_ns;
  for (const Window& one : windows) {
    lengths_ns.push_back(one.length_ns);
    exposed_ns.push_back(one.exposed_ns);
  }
  const double length_ns = median_in_place(lengths_ns), usual_ns = median_in_place(exposed_ns);
  const Window& chosen = *std::ranges::min_element(windows, {}, [&](const Window& one) {
    return std::abs(one.length_ns - length_ns) + std::abs(one.exposed_ns - usual_ns);
  });
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = chosen.first; i < chosen.first + size; ++i)
    numbers.push_back(steps[i].number);
  return numbers;
}

bool lengths_differ(const std::vector<StepLength>& steps) {
  std::vector<double> lengths_ns;
  for (const StepLength& one : steps)
    lengths_ns.push_back(one.length_ns);
  const Summary summary = summarise(lengths_ns);
  return summary.interquartile_range.value_or(0) > k_different * summary.median;
}

} // namespace ncclprobe::analysis::replay
