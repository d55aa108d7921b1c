// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_numbers.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_most_borders = 128; // looked at for the longest pause

// Operations between the last known one of a step and the first known one of the next.
struct Border {
  std::size_t first = 0; // index of the first in between
  std::size_t count = 0;
};

// How operations that nobody else shares are divided between two steps.
struct Division {
  std::size_t before = 0; // so many belong to the earlier step
  std::size_t after = 0;  // and so many to the later one
};

Division usual_division(std::span<const JobOperation> operations,
                        const std::vector<Border>& borders) {
  std::map<std::size_t, std::size_t> counts;
  for (const Border& border : borders)
    ++counts[border.count];
  if (counts.empty())
    return {};
  const std::size_t usual =
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  std::vector<std::vector<double>> pauses_ns(usual + 1); // before each, and before what follows
  const std::size_t every = 1 + counts[usual] / k_most_borders;
  std::size_t seen = 0;
  for (const Border& border : borders)
    if (border.count == usual && seen++ % every == 0)
      for (std::size_t i = 0; i <= usual; ++i)
        pauses_ns[i].push_back(static_cast<double>(operations[border.first + i].pause_ns));
  std::size_t longest = 0;
  double longest_ns = -1;
  for (std::size_t i = 0; i <= usual; ++i)
    if (const double pause_ns = median(std::move(pauses_ns[i])); pause_ns > longest_ns) {
      longest_ns = pause_ns;
      longest = i;
    }
  return {longest, usual - longest};
}

} // namespace

const StepBatch* batch_of(std::span<const StepBatch> batches, std::uint32_t step) {
  const auto after = std::ranges::upper_bound(batches, step, {}, &StepBatch::first);
  if (step == k_outside || after == batches.begin())
    return nullptr;
  const StepBatch& batch = *std::prev(after);
  return step - batch.first < batch.steps ? &batch : nullptr;
}

void StepNumbers::add(std::span<const JobOperation> operations,
                      std::span<const std::uint32_t> steps) {
  struct Growing {
    std::vector<Range> ranges;
    Range now; // operations of one step
    void close() {
      if (now.end == 0)
        return;
      now.of_each = now.end - now.first;
      Range* last = ranges.empty() ? nullptr : &ranges.back();
      if (last != nullptr && last->end == now.first && last->of_each == now.of_each &&
          last->step + (last->end - last->first) / last->of_each == now.step)
        last->end = now.end;
      else
        ranges.push_back(now);
    }
  };
  std::unordered_map<std::uint64_t, Growing> growing;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const JobOperation& one = operations[i];
    if (steps[i] == k_outside || places_.contains(one.where))
      continue;
    Growing& place = growing[one.where];
    if (place.now.end == 0 || place.now.step != steps[i]) {
      place.close();
      place.now = {one.which, one.which, 0, steps[i]};
    }
    place.now.first = std::min(place.now.first, one.which);
    place.now.end = std::max(place.now.end, one.which + 1);
  }
  for (auto& [where, place] : growing) {
    place.close();
    std::ranges::sort(place.ranges, {}, &Range::first);
    places_.emplace(where, std::move(place.ranges));
  }
}

std::uint32_t StepNumbers::of(const JobOperation& operation) const {
  const auto place = places_.find(operation.where);
  if (place == places_.end())
    return k_outside;
  const auto after = std::ranges::upper_bound(place->second, operation.which, {}, &Range::first);
  if (after == place->second.begin() || operation.which >= std::prev(after)->end)
    return k_outside;
  const Range& range = *std::prev(after);
  return range.step + static_cast<std::uint32_t>((operation.which - range.first) / range.of_each);
}

NumberedOperations number_operations(std::span<const JobOperation> operations,
                                     const StepNumbers& numbers,
                                     std::span<const StepBatch> batches) {
  NumberedOperations out{std::vector<std::uint32_t>(operations.size(), k_outside), 0, 0};
  auto follows = [&](std::uint32_t before, std::uint32_t after) {
    return after == before + 1 && batch_of(batches, before) == batch_of(batches, after);
  };
  auto is_first = [&](std::uint32_t step) {
    const StepBatch* batch = batch_of(batches, step);
    return batch != nullptr && step == batch->first;
  };
  auto is_last = [&](std::uint32_t step) {
    const StepBatch* batch = batch_of(batches, step);
    return batch != nullptr && step + 1 == batch->first + batch->steps;
  };
  std::vector<std::size_t> known;
  std::vector<Border> borders;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint32_t step = numbers.of(operations[i]);
    if (step == k_outside)
      continue;
    out.steps[i] = step;
    if (!known.empty()) {
      const std::uint32_t before = out.steps[known.back()];
      out.out_of_order += step < before;
      if (follows(before, step))
        borders.push_back({known.back() + 1, i - known.back() - 1});
    }
    known.push_back(i);
  }
  out.known = known.size();
  const Division usual = usual_division(operations, borders);
  auto fill = [&](std::size_t first, std::size_t count, std::uint32_t step) {
    std::fill_n(out.steps.begin() + static_cast<std::ptrdiff_t>(first), count, step);
  };
  for (std::size_t k = 0; k <= known.size() && !known.empty(); ++k) {
    const std::size_t first = k == 0 ? 0 : known[k - 1] + 1;
    const std::size_t end = k == known.size() ? operations.size() : known[k];
    const std::uint32_t before = k == 0 ? k_outside : out.steps[known[k - 1]];
    const std::uint32_t after = k == known.size() ? k_outside : out.steps[known[k]];
    if (before == after) {
      fill(first, end - first, before);
      continue;
    }
    // At the begin and the end of a batch, as many as usual.
    const bool is_within = before != k_outside && follows(before, after);
    const std::size_t of_before =
        is_within || is_last(before) ? std::min(end - first, usual.before) : 0;
    const std::size_t others = end - first - of_before;
    const std::size_t of_after =
        is_within ? others : (is_first(after) ? std::min(others, usual.after) : 0);
    fill(first, of_before, before);
    fill(end - of_after, of_after, after);
  }
  return out;
}

} // namespace ncclprobe::analysis::job
