// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/repeated_steps.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ncclprobe::analysis::timeline {
namespace {

using Observed = std::span<const ObservedCollective>;

// The length after which the sequence repeats exactly; nothing if it repeats too rarely. The
// longest proper prefix that is also a suffix (Knuth, Morris and Pratt) gives the period.
std::optional<std::size_t> period_of(Observed sequence) {
  if (sequence.empty())
    return std::nullopt;
  std::vector<std::size_t> border(sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && sequence[i].kind != sequence[length].kind)
      length = border[length - 1];
    border[i] = length + (sequence[i].kind == sequence[length].kind);
  }
  const std::size_t period = sequence.size() - border.back();
  return 4 * period <= sequence.size() ? std::optional(period) : std::nullopt;
}

// The position in the period before the longest pause.
std::size_t first_of_step(Observed sequence, std::size_t period) {
  std::vector<std::vector<double>> pauses_ns(period);
  for (std::size_t i = 1; i < sequence.size(); ++i)
    pauses_ns[i % period].push_back(
        static_cast<double>(sequence[i].begin_ns - sequence[i - 1].begin_ns));
  std::size_t first = 0;
  double longest_ns = -1;
  for (std::size_t place = 0; place < period; ++place)
    if (const double pause_ns = median(std::move(pauses_ns[place])); pause_ns > longest_ns) {
      longest_ns = pause_ns;
      first = place;
    }
  return first;
}

} // namespace

std::optional<RepeatedSteps> repeated_steps(Observed collectives) {
  // The begin and end of a job differ, and so may a pause for evaluation between. One of these
  // sections, in eighths, shows the pattern to search for.
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> k_stretches{
      {{1, 7}, {2, 6}, {3, 5}, {1, 3}, {5, 7}}};
  const std::size_t size = collectives.size();
  for (const auto& [from, to] : k_stretches) {
    const Observed stretch = collectives.subspan(size * from / 8, size * to / 8 - size * from / 8);
    const auto period = period_of(stretch);
    if (!period)
      continue;
    const Observed pattern = stretch.subspan(first_of_step(stretch, *period), *period);
    RepeatedSteps found{*period, {}};
    for (std::size_t i = 0; i + *period <= size;) {
      const Observed here = collectives.subspan(i, *period);
      if (!std::ranges::equal(here, pattern, {}, &ObservedCollective::kind,
                              &ObservedCollective::kind)) {
        ++i;
        continue;
      }
      found.steps.push_back({here.front().begin_ns, here.back().end_ns});
      i += *period;
    }
    if (found.steps.size() >= k_fewest_repeats && 2 * *period * found.steps.size() >= size)
      return found;
  }
  return std::nullopt;
}

} // namespace ncclprobe::analysis::timeline
