// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/work_growth.h"
#include "support/catch.h"

#include <cmath>
#include <functional>

using namespace ncclprobe::analysis::cost_model;

namespace {

// Operations of 64 units on one rank, of half as many on twice the ranks, in three processes.
WorkGrowth growth_of(const std::vector<int>& ranks, const std::function<double(double)>& time_ns,
                     double noise = 0) {
  std::vector<WorkPoint> points;
  double sign = 1;
  for (int count : ranks) {
    WorkPoint one{.ranks = count, .amount = 64.0 / count, .time_ns = time_ns(64.0 / count)};
    one.in_step_ns = 1.1 * one.time_ns; // beside communication
    for (int process = 0; process < 3; ++process)
      one.process_ns[process] = one.time_ns * (1 + 0.01 * process) * (1 + noise * sign * process);
    points.push_back(one);
    sign = -sign;
  }
  return WorkGrowth(points);
}

double line_ns(double amount) {
  return 100 + 10 * amount;
}

} // namespace

TEST_CASE("Times that have a fixed part do not fall in proportion to the work") {
  const WorkGrowth growth = growth_of({1, 2, 4}, line_ns);

  const WorkGrowth::Time quarter = growth.at(0.25);

  CHECK(growth.base_amount() == 16);
  CHECK(quarter.factor == Approx(line_ns(4) / line_ns(16)));
  CHECK(quarter.is_told);
  // The communication beside it begins behind one rank: 10% that the line knows nothing of cancel.
  CHECK(quarter.model == Approx(0).margin(1e-9));
  CHECK(quarter.fit < 1e-6); // processes differ by the same on all ranks
}

TEST_CASE("The bend of the times is the error of a line through them") {
  auto bent_ns = [](double amount) { return 100 * std::sqrt(amount); };
  const WorkGrowth growth = growth_of({1, 2, 4}, bent_ns);

  const WorkGrowth::Time half = growth.at(0.5), eighth = growth.at(0.125);

  CHECK(half.factor > std::sqrt(0.5));
  CHECK(half.factor - half.model < std::sqrt(0.5));
  CHECK(eighth.factor - eighth.model < std::sqrt(0.125));
  CHECK(eighth.model > half.model);
}

TEST_CASE("Noise that processes do not share counts the more the farther a line is followed") {
  const WorkGrowth growth = growth_of({1, 2, 4}, line_ns, 0.001);

  CHECK(growth.at(0.5).fit > 0);
  CHECK(growth.at(0.125).fit / growth.at(0.125).factor >
        growth.at(0.5).fit / growth.at(0.5).factor);
}

TEST_CASE("One or two sizes tell nothing of the error at another") {
  const WorkGrowth one = growth_of({4}, line_ns), two = growth_of({2, 4}, line_ns);

  CHECK(one.at(1).is_told);
  CHECK(one.at(1.005).factor == 1.005);
  CHECK_FALSE(one.at(0.5).is_told);
  CHECK(one.at(0.5).factor == 0.5); // in proportion, for want of a line
  CHECK_FALSE(two.at(0.5).is_told);
  CHECK(two.at(0.5).factor == Approx(line_ns(8) / line_ns(16)));
}
