// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/block_bootstrap.h"

#include "analysis/statistics/statistics.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::size_t k_resamples = 1000;

Interval middle_of(const std::vector<double>& drawn) {
  const double tail = (1 - k_confidence) / 2;
  return {analysis::quantile(drawn, tail), analysis::quantile(drawn, 1 - tail)};
}

// The same for figures that may be infinite, between which interpolation is impossible.
Interval middle_of_ordered(std::vector<double> drawn) {
  std::ranges::sort(drawn);
  const auto beyond =
      static_cast<std::size_t>((1 - k_confidence) / 2 * static_cast<double>(drawn.size()));
  return {drawn[beyond], drawn[drawn.size() - 1 - beyond]};
}

// Numbers the blocks that have values from 0 on, and returns their count.
std::size_t renumber_blocks(std::vector<InBlock>& values) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (InBlock& one : values)
    one.block = numbers.try_emplace(one.block, numbers.size()).first->second;
  return numbers.size();
}

} // namespace

std::size_t drawn_of_stretch(std::size_t stretch, std::size_t every, std::size_t size) {
  const std::size_t first = stretch * every;
  return first + static_cast<std::size_t>(base::mixed(stretch) % std::min(every, size - first));
}

std::vector<double> steps_in_blocks(std::size_t steps, std::size_t blocks) {
  std::vector<double> out(blocks);
  for (std::size_t step = 0; step < steps; ++step)
    ++out[block_of_step(step, steps, blocks)];
  return out;
}

std::vector<std::optional<Interval>>
bootstrap_per_step(const std::vector<std::vector<double>>& sums, const std::vector<double>& steps) {
  std::vector<std::optional<Interval>> out(sums.size());
  if (steps.size() < k_fewest_blocks)
    return out;
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> means(sums.size());
  std::vector<std::size_t> drawn(steps.size());
  for (std::size_t i = 0; i < k_resamples; ++i) {
    double all_steps = 0;
    for (std::size_t& block : drawn) {
      block = static_cast<std::size_t>(random() % steps.size());
      all_steps += steps[block];
    }
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      double sum = 0;
      for (std::size_t block : drawn)
        sum += sums[rank][block];
      means[rank].push_back(sum / all_steps);
    }
  }
  for (std::size_t rank = 0; rank < sums.size(); ++rank)
    out[rank] = middle_of(means[rank]);
  return out;
}

DrawnValues::DrawnValues(const std::vector<InBlock>& sorted,
                         const std::vector<std::uint32_t>& times_of_block)
    : sorted_(sorted), times_(times_of_block) {
  for (std::size_t i = 0; i < sorted_.size(); ++i)
    count_ += times(i);
}

double DrawnValues::quantile(double probability) const {
  const double wanted = probability * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    seen += times(i);
    if (seen > 0 && static_cast<double>(seen) >= wanted)
      return sorted_[i].value;
  }
  return sorted_.empty() ? 0 : sorted_.back().value;
}

double DrawnValues::median_distance(double from) const {
  // From the value outwards, on the closer side.
  auto above = static_cast<std::size_t>(
      std::ranges::lower_bound(sorted_, from, {}, &InBlock::value) - sorted_.begin());
  std::size_t below = above;
  std::uint64_t seen = 0;
  double distance = 0;
  while (2 * seen < count_ && (below > 0 || above < sorted_.size())) {
    const bool up = below == 0 || (above < sorted_.size() &&
                                   sorted_[above].value - from <= from - sorted_[below - 1].value);
    const std::size_t next = up ? above++ : --below;
    if (times(next) == 0)
      continue;
    seen += times(next);
    distance = std::abs(sorted_[next].value - from);
  }
  return distance;
}

std::vector<std::optional<Interval>>
bootstrap(std::vector<InBlock> values, const std::vector<DrawnFigure>& figures, std::size_t most) {
  std::vector<std::optional<Interval>> out(figures.size());
  if (const std::size_t every = (values.size() + most - 1) / most; every > 1) {
    for (std::size_t i = 0; i * every < values.size(); ++i)
      values[i] = values[drawn_of_stretch(i, every, values.size())];
    values.resize((values.size() + every - 1) / every);
  }
  const std::size_t blocks = renumber_blocks(values);
  if (blocks < k_fewest_blocks)
    return out;
  std::ranges::sort(values, {}, &InBlock::value);
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> drawn(figures.size());
  std::vector<std::uint32_t> times(blocks);
  for (std::size_t i = 0; i < k_resamples; ++i) {
    std::ranges::fill(times, 0u);
    for (std::size_t k = 0; k < blocks; ++k)
      ++times[static_cast<std::size_t>(random() % blocks)];
    const DrawnValues sample(values, times);
    for (std::size_t figure = 0; figure < figures.size(); ++figure)
      if (auto value = figures[figure](sample))
        drawn[figure].push_back(*value);
  }
  for (std::size_t figure = 0; figure < figures.size(); ++figure)
    if (drawn[figure].size() == k_resamples)
      out[figure] = middle_of_ordered(std::move(drawn[figure]));
  return out;
}

} // namespace ncclprobe::analysis::timeline
