// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

// Consecutive steps stand together in blocks, from which chance draws with replacement: what is
// near in time is not independent. docs/method.md, "The timeline".
namespace ncclprobe::analysis::timeline {

inline constexpr std::size_t k_most_blocks = 128;
inline constexpr std::size_t k_fewest_blocks = 6; // a median's 95% interval needs as many
constexpr std::size_t block_of_step(std::size_t step, std::size_t steps, std::size_t blocks) {
  return step * blocks / steps;
}
std::vector<double> steps_in_blocks(std::size_t steps, std::size_t blocks);
// 95% intervals of sum / steps, when blocks are drawn with replacement; none of too few blocks.
// `sums`: by rank and block.
std::vector<std::optional<Interval>>
bootstrap_per_step(const std::vector<std::vector<double>>& sums, const std::vector<double>& steps);

// Which of `size` values stands for the n-th stretch of `every`: by chance, the same each time. At
// even distances they might all be the same place of steps that repeat.
std::size_t drawn_of_stretch(std::size_t stretch, std::size_t every, std::size_t size);

struct InBlock {
  double value = 0;
  std::uint32_t block = 0;
};

// Values in ascending order, each with how often it was drawn.
class DrawnValues {
public:
  DrawnValues(const std::vector<InBlock>& sorted, const std::vector<std::uint32_t>& times_of_block);
  // The least value that so much of all does not exceed.
  double quantile(double probability) const;
  // The median distance from a value.
  double median_distance(double from) const;

private:
  std::uint32_t times(std::size_t i) const { return times_[sorted_[i].block]; }

  const std::vector<InBlock>& sorted_;
  const std::vector<std::uint32_t>& times_;
  std::uint64_t count_ = 0;
};

// 95% intervals of figures of the values; nothing for a figure that a draw does not have. Of more
// than `most` values one of each stretch is taken. Only blocks that have values are drawn; none of
// too few of them.
using DrawnFigure = std::function<std::optional<double>(const DrawnValues&)>;
std::vector<std::optional<Interval>>
bootstrap(std::vector<InBlock> values, const std::vector<DrawnFigure>& figures, std::size_t most);

} // namespace ncclprobe::analysis::timeline
