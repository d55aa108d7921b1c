// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/cost.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::procure {
namespace {

constexpr double k_ns_per_hour = 3.6e12;
constexpr double k_watt_ns_per_kwh = 3.6e15;

// What one step costs, by its time and the power of its GPUs.
class StepCost {
public:
  StepCost(const StepFigure& step, const Price& price, int gpus, double amount)
      : price_(price), nodes_(static_cast<double>(step.ranks) / gpus),
        per_ns_(amount * price.per_used_hour() * nodes_ / k_ns_per_hour) {}

  double of(double step_ns, double gpus_w) const {
    const double node_w = gpus_w + price_.other_w.value_or(0) * nodes_;
    return step_ns *
           (per_ns_ + price_.per_kwh.value_or(0) * price_.pue * node_w / k_watt_ns_per_kwh);
  }

private:
  const Price& price_;
  double nodes_;
  double per_ns_;
};

// The limits of the cost of a step.
std::optional<Bounds> limits(const StepFigure& step, const StepCost& cost, bool power_counts) {
  if (!step.range_ns || (power_counts && !step.gpus_w))
    return std::nullopt;
  const Bounds watts = power_counts ? *step.gpus_w : Bounds{0, 0};
  Bounds range{cost.of(step.range_ns->low, watts.low), {}};
  if (step.range_ns->high && watts.high)
    range.high = cost.of(*step.range_ns->high, *watts.high);
  return range;
}

// The values of its observations, if each is known.
std::vector<double> values_of(const StepFigure& step, const StepCost& cost, bool power_counts) {
  std::vector<double> values;
  for (const Observation& one : step.observations) {
    if (power_counts && !one.gpus_w)
      return {};
    values.push_back(cost.of(one.step_ns, one.gpus_w.value_or(0)));
  }
  return values;
}

Bounds scaled(Bounds range, double factor) {
  range.low *= factor;
  if (range.high)
    *range.high *= factor;
  return range;
}

// Where `sign_at`, which grows with the price, passes zero; nothing if it is positive even at 0, or
// nowhere.
template <typename SignAt>
std::optional<double> root(SignAt sign_at, double begin) {
  if (sign_at(0) >= 0)
    return std::nullopt;
  double low = 0, high = begin;
  constexpr int k_most_doublings = 64;
  for (int i = 0; sign_at(high) < 0; ++i, low = high, high *= 2)
    if (i == k_most_doublings)
      return std::nullopt;
  constexpr int k_halvings = 60;
  for (int i = 0; i < k_halvings; ++i) {
    const double middle = (low + high) / 2;
    (sign_at(middle) < 0 ? low : high) = middle;
  }
  return high;
}

} // namespace

std::optional<Figure> cost_of(const StepFigure& step, const Price& price, int gpus, double amount) {
  const bool power_counts = price.per_kwh.has_value();
  const StepCost cost(step, price, gpus, amount);
  auto range = limits(step, cost, power_counts);
  if (!range || step.samples <= 0)
    return std::nullopt;
  const double factor = k_samples / step.samples;
  Figure figure{.value = {}, .range = scaled(*range, factor), .scatter = {}};
  const std::vector<double> values = values_of(step, cost, power_counts);
  if (values.size() > 1) {
    const Estimate estimate = ratio_estimate(values, k_confidence);
    figure.value = estimate.value * factor;
    if (estimate.interval && estimate.interval->low > 0)
      figure.range = scaled({estimate.interval->low, estimate.interval->high}, factor);
    if (auto scatter = log_scatter(values))
      figure.scatter = RatioSide{values.size(), *scatter};
  } else if (values.size() == 1) {
    figure.value = values.front() * factor;
  } else if (step.step_ns && !power_counts) {
    figure.value = cost.of(*step.step_ns, 0) * factor;
  }
  return figure;
}

std::optional<Figure> cost_of_step(const StepFigure& step, const Price& price, int gpus) {
  auto figure = price.amount() ? cost_of(step, price, gpus, *price.amount()) : std::nullopt;
  if (!figure)
    return std::nullopt;
  const double factor = step.samples / k_samples;
  figure->range = scaled(figure->range, factor);
  if (figure->value)
    *figure->value *= factor;
  return figure;
}

Figure mixed(const std::vector<Figure>& parts, const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  Figure all{.value = 0, .range = {0, 0}, .scatter = {}};
  double error = 0, degrees_of_freedom = HUGE_VAL;
  bool scatters = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Figure& part = parts[i];
    const double share = weights[i] / sum;
    all.range.low += share * part.range.low;
    if (all.range.high && part.range.high)
      *all.range.high += share * *part.range.high;
    else
      all.range.high.reset();
    if (all.value && part.value)
      *all.value += share * *part.value;
    else
      all.value.reset();
    if (!part.scatter || !part.value) {
      scatters = false;
      continue;
    }
    const LogScatter& scatter = part.scatter->scatter;
    error += share * *part.value *
             std::sqrt(scatter.variance / static_cast<double>(part.scatter->count));
    degrees_of_freedom = std::min(degrees_of_freedom, scatter.degrees_of_freedom);
  }
  if (scatters && all.value && *all.value > 0)
    all.scatter = RatioSide{1, {std::pow(error / *all.value, 2), degrees_of_freedom}};
  return all;
}

std::optional<RatioTest> tested(const Figure& over, const Figure& under) {
  if (!over.scatter || !under.scatter || !over.value || !under.value)
    return std::nullopt;
  return ratio_test(*over.value / *under.value, *over.scatter, *under.scatter, k_confidence);
}

Bounds ratio_range(const Figure& over, const Figure& under) {
  if (auto test = tested(over, under))
    return {test->interval.low, test->interval.high};
  Bounds ratio{under.range.high ? over.range.low / *under.range.high : 0, {}};
  if (over.range.high && under.range.low > 0)
    ratio.high = *over.range.high / under.range.low;
  return ratio;
}

BreakEvenPrice break_even_price(const CostAt& cost_at, const Figure& other, double price_now) {
  BreakEvenPrice found;
  const auto now = cost_at(price_now);
  if (!now)
    return found;
  if (now->value && other.value) {
    auto sign_at = [&](double price) { return *cost_at(price)->value - *other.value; };
    found.never = sign_at(0) >= 0;
    found.value = root(sign_at, price_now);
  }
  // Below the first the node costs less, above the second it costs more.
  auto most_at = [&](double price) {
    return ratio_range(*cost_at(price), other).high.value_or(HUGE_VAL) - 1;
  };
  auto least_at = [&](double price) { return ratio_range(*cost_at(price), other).low - 1; };
  found.never = found.never || least_at(0) >= 0;
  if (!found.never)
    found.range = Bounds{root(most_at, price_now).value_or(0), root(least_at, price_now)};
  return found;
}

} // namespace ncclprobe::analysis::procure
