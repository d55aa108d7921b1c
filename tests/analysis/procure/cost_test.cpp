// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/cost.h"
#include "support/catch.h"

#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::procure;

namespace {

// Steps of 2 ranks and 16 samples, one a process, of so many seconds.
StepFigure steps_of(const std::vector<double>& seconds, std::optional<double> gpus_w = {}) {
  StepFigure step{.origin = Origin::measured, .ranks = 2, .samples = 16};
  std::vector<double> times_ns;
  for (double one : seconds) {
    step.observations.push_back({one * 1e9, gpus_w});
    times_ns.push_back(one * 1e9);
  }
  const Estimate estimate = ratio_estimate(times_ns, k_confidence);
  step.step_ns = estimate.value;
  step.range_ns = Bounds{};
  if (estimate.interval)
    step.range_ns = Bounds{estimate.interval->low, estimate.interval->high};
  if (gpus_w)
    step.gpus_w = Bounds{*gpus_w, *gpus_w};
  return step;
}

Price rent(double per_hour) {
  Price price;
  price.per_hour = per_hour;
  return price;
}

const std::vector<double> k_steady{3.6, 3.6, 3.6, 3.6, 3.6};
const std::vector<double> k_slow{5.0, 5.1, 4.9, 5.05, 4.95};
const std::vector<double> k_fast{2.5, 2.45, 2.55, 2.52, 2.48};

CostAt cost_with(StepFigure step, Price price) {
  return [=](double amount) { return cost_of(step, price, 2, amount); };
}

} // namespace

TEST_CASE("a step costs its share of the node's hour and its energy") {
  Price price = rent(40);
  const StepFigure step = steps_of(k_steady, 1000);

  auto node_alone = cost_of_step(step, price, 4);
  price.per_kwh = 0.5;
  price.pue = 2;
  price.other_w = 500;
  auto with_power = cost_of_step(step, price, 4);

  REQUIRE(node_alone);
  CHECK(*node_alone->value == Approx(40 * 0.5 * 0.001)); // half a node for a thousandth of an hour
  REQUIRE(with_power);
  const double kwh = (1000 + 250) * 3.6 / 3.6e6;
  CHECK(*with_power->value == Approx(0.02 + kwh * 2 * 0.5));
  CHECK(*cost_of(step, price, 4, 40)->value == Approx(*with_power->value * 1e6 / 16));
}

TEST_CASE("a purchase is spread over the hours in which it computes") {
  Price price;
  price.purchase = k_hours_per_year;
  price.years = 2;
  price.utilisation = 0.25;

  CHECK(price.per_used_hour() * *price.amount() == Approx(2));
}

TEST_CASE("power that was not read leaves limits, and no test") {
  Price price = rent(10);
  StepFigure step = steps_of(k_steady);
  step.gpus_w = Bounds{0, 1400};

  REQUIRE(cost_of(step, price, 2, 10)->scatter); // power has no price
  price.per_kwh = 1;
  auto cost = cost_of_step(step, price, 2);

  REQUIRE(cost);
  CHECK_FALSE(cost->value);
  CHECK_FALSE(cost->scatter);
  CHECK(cost->range.low == Approx(0.01).epsilon(1e-3));
  REQUIRE(cost->range.high);
  CHECK(*cost->range.high == Approx(0.01 + 1400 * 3.6 / 3.6e6).epsilon(1e-3));
  step.gpus_w = Bounds{0, {}};
  CHECK_FALSE(cost_of_step(step, price, 2)->range.high);
}

TEST_CASE("the order turns at the price that makes up for the ratio of times") {
  const auto other = *cost_of(steps_of(k_slow), rent(20), 2, 20);
  const CostAt cost_at = cost_with(steps_of(k_fast), rent(30));

  const BreakEvenPrice found = break_even_price(cost_at, other, 30);
  const RatioTest now = *tested(*cost_at(30), other);

  REQUIRE(found.value);
  CHECK(*found.value == Approx(20 * 5.0 / 2.5).epsilon(1e-3));
  CHECK(*found.value == Approx(30 / now.ratio));
  REQUIRE(found.range);
  CHECK(found.range->low == Approx(30 / now.interval.high));
  REQUIRE(found.range->high);
  CHECK(*found.range->high == Approx(30 / now.interval.low));
  CHECK_FALSE(found.never);
}

TEST_CASE("with energy, the ends of its interval are where the test stops telling the two apart") {
  Price price = rent(30);
  price.per_kwh = 0.3;
  const auto other = *cost_of(steps_of(k_slow, 900), price, 2, 20);
  const CostAt cost_at = cost_with(steps_of(k_fast, 1400), price);

  const BreakEvenPrice found = break_even_price(cost_at, other, 30);

  REQUIRE(found.value);
  CHECK(*cost_at(*found.value)->value == Approx(*other.value));
  REQUIRE(found.range->high);
  CHECK(tested(*cost_at(found.range->low), other)->interval.high == Approx(1));
  CHECK(tested(*cost_at(*found.range->high), other)->interval.low == Approx(1));
}

TEST_CASE("its interval contains the true price as often as it says") {
  Price price = rent(30);
  price.per_kwh = 0.3;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.02);
  auto processes = [&](double seconds) {
    std::vector<double> times;
    for (int i = 0; i < 6; ++i)
      times.push_back(seconds * std::exp(noise(random)));
    return times;
  };
  auto exactly = [&](double seconds, double amount) {
    return cost_of(steps_of({seconds, seconds}, 900), price, 2, amount);
  };
  const double true_price =
      *break_even_price([&](double amount) { return exactly(2.5, amount); }, *exactly(5, 20), 30)
           .value;

  constexpr int k_draws = 400;
  int contained = 0;
  for (int i = 0; i < k_draws; ++i) {
    const auto other = *cost_of(steps_of(processes(5), 900), price, 2, 20);
    const BreakEvenPrice found =
        break_even_price(cost_with(steps_of(processes(2.5), 900), price), other, 30);
    contained += found.range->low <= true_price && true_price <= *found.range->high;
  }

  CHECK(contained > 0.915 * k_draws); // 95% less three standard errors
  CHECK(contained < 0.985 * k_draws);
}

TEST_CASE("no price helps a node whose power alone costs more") {
  Price dear = rent(1);
  dear.per_kwh = 100;
  const auto other = *cost_of(steps_of(k_slow), rent(1), 2, 1);

  const BreakEvenPrice found = break_even_price(cost_with(steps_of(k_fast, 1400), dear), other, 1);

  CHECK(found.never);
  CHECK_FALSE(found.value);
  CHECK_FALSE(found.range);
}

TEST_CASE("a price against limits turns between the limits") {
  Figure other{.value = {}, .range = {100, 400}, .scatter = {}};
  const CostAt cost_at = cost_with(steps_of(k_steady), rent(1)); // 125 / 2 an hour: 62.5
  const double at_one = *cost_at(1)->value;

  const BreakEvenPrice found = break_even_price(cost_at, other, 1);

  CHECK_FALSE(found.value);
  REQUIRE(found.range);
  CHECK(found.range->low == Approx(100 / at_one).epsilon(1e-3));
  CHECK(*found.range->high == Approx(400 / at_one).epsilon(1e-3));
  other.range.high.reset();
  CHECK_FALSE(break_even_price(cost_at, other, 1).range->high);
}

TEST_CASE("a mix is the weighted mean, and scatters at most as the sum of its parts") {
  const Figure slow = *cost_of(steps_of(k_slow), rent(10), 2, 10),
               fast = *cost_of(steps_of(k_fast), rent(10), 2, 10);

  const Figure mix = mixed({slow, fast}, {3, 1});

  CHECK(*mix.value == Approx(0.75 * *slow.value + 0.25 * *fast.value));
  REQUIRE(mix.scatter);
  auto error = [](const Figure& of) {
    return *of.value *
           std::sqrt(of.scatter->scatter.variance / static_cast<double>(of.scatter->count));
  };
  CHECK(*mix.value * std::sqrt(mix.scatter->scatter.variance) ==
        Approx(0.75 * error(slow) + 0.25 * error(fast)));
  CHECK(mix.scatter->scatter.degrees_of_freedom == 4);
  // One part is what it is.
  CHECK(tested(mixed({slow}, {2}), fast)->p == Approx(tested(slow, fast)->p));
  CHECK_FALSE(mixed({slow, {.value = {}, .range = {1, 2}, .scatter = {}}}, {1, 1}).scatter);
}
