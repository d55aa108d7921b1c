// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/step_figure.h"

#include <functional>
#include <optional>
#include <vector>

// What training costs on a node, with the uncertainty of its measurement (docs/method.md,
// "Procurement").
namespace ncclprobe::analysis::procure {

inline constexpr double k_samples = 1e6; // costs are those of so many samples

// A positive figure of one node, for one workload or a mix of several.
struct Figure {
  std::optional<double> value; // absent: only its range is known
  Bounds range;
  // Standard error of the value's logarithm; absent: `range` is all that is known.
  std::optional<RatioSide> scatter;
};

// Cost of a million samples, at that price of the node instead of price.amount(). Power counts if
// it has a price. Nothing if the step is unknown, or if power has a price and may be anything.
std::optional<Figure> cost_of(const StepFigure& step, const Price& price, int gpus, double amount);

// Cost of one step at the node's own price; nothing as above, and without a price.
std::optional<Figure> cost_of_step(const StepFigure& step, const Price& price, int gpus);

// The weighted mean. Its scatter is the sum of the parts' scatters, which holds for parts that
// depend on each other in any way; it has the fewest degrees of freedom of all. If a part has no
// scatter, the whole has none.
Figure mixed(const std::vector<Figure>& parts, const std::vector<double>& weights);

// Over / under. Welch's test if both have a scatter.
std::optional<RatioTest> tested(const Figure& over, const Figure& under);
Bounds ratio_range(const Figure& over, const Figure& under);

// The price at which a cost that grows with it equals another. A cost without a middle has no
// value.
struct BreakEvenPrice {
  std::optional<double> value;
  std::optional<Bounds> range; // prices at which the order is not decided
  bool never = false;          // even for nothing it would cost more
};
// `cost_at(price)`: of the node whose price is sought; `other`: of the other node. Between the
// range's ends, the 95% interval of the ratio of costs contains 1 (Fieller's idea); if one cost
// only has a range, so do the ranges overlap there.
using CostAt = std::function<std::optional<Figure>(double price)>;
BreakEvenPrice break_even_price(const CostAt& cost_at, const Figure& other, double price_now);

} // namespace ncclprobe::analysis::procure
