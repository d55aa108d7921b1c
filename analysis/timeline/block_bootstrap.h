// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

// Consecutive steps form blocks, which are drawn with replacement, because steps close in time
// depend on each other. docs/method.md, "The timeline".
namespace ncclprobe::analysis::timeline {

inline constexpr std::size_t k_most_blocks = 128;
inline constexpr std::size_t k_fewest_blocks = 6; // a median's 95% interval needs as many
constexpr std::size_t block_of_step(std::size_t step, std::size_t steps, std::size_t blocks) {
  return step * blocks / steps;
}
std::vector<double> steps_in_blocks(std::size_t steps, std::size_t blocks);
// 95% intervals of sum / steps, with blocks drawn with replacement; none for too few blocks.
// `sums`: by rank and block.
std::vector<std::optional<Interval>>
bootstrap_per_step(const std::vector<std::vector<double>>& sums, const std::vector<double>& steps);

// Which of `size` values represents the n-th group of `every`: random, but the same each time. At
// even distances, all might be the same position of repeating steps.
std::size_t drawn_of_stretch(std::size_t stretch, std::size_t every, std::size_t size);

struct InBlock {
  double value = 0;
  std::uint32_t block = 0;
};

// Values in ascending order, with the number of times that each was drawn.
class DrawnValues {
public:
  DrawnValues(const std::vector<InBlock>& sorted, const std::vector<std::uint32_t>& times_of_block);
  // The smallest value that this share of all does not exceed.
  double quantile(double probability) const;
  // The median distance from a value.
  double median_distance(double from) const;

private:
  std::uint32_t times(std::size_t i) const { return times_[sorted_[i].block]; }

  const std::vector<InBlock>& sorted_;
  const std::vector<std::uint32_t>& times_;
  std::uint64_t count_ = 0;
};

// 95% intervals of figures of the values; nothing for a figure that is missing in a draw. From more
// than `most` values, one of each group is used. Only blocks with values are drawn; none for too
// few of them.
using DrawnFigure = std::function<std::optional<double>(const DrawnValues&)>;
std::vector<std::optional<Interval>>
bootstrap(std::vector<InBlock> values, const std::vector<DrawnFigure>& figures, std::size_t most);

} // namespace ncclprobe::analysis::timeline
