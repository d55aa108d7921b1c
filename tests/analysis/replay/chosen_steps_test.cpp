// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/chosen_steps.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::replay;

namespace {

using Numbers = std::vector<std::uint32_t>;

job::FoundSteps with_batches(const std::vector<job::StepBatch>& batches) {
  job::FoundSteps found;
  found.batches = batches;
  return found;
}

} // namespace

TEST_CASE("steps are compared if the step before is of their kind") {
  CHECK(steps_to_compare(with_batches({{.first = 0, .steps = 4, .kind = 0},
                                       {.first = 4, .steps = 3, .kind = 1},
                                       {.first = 7, .steps = 2, .kind = 0}}),
                         0) == Numbers{1, 2, 3, 8});
}

TEST_CASE("of many steps, runs of consecutive ones from the whole job are compared") {
  const Numbers steps =
      steps_to_compare(with_batches({{.first = 0, .steps = 10'001, .kind = 0}}), 0);

  REQUIRE(steps.size() == k_most_compared_steps);
  CHECK(steps.front() == 1);
  CHECK(steps.back() == 10'000);
  for (std::size_t run = 0; run < steps.size(); run += k_most_replayed_steps)
    CHECK(steps[run + k_most_replayed_steps - 1] == steps[run] + k_most_replayed_steps - 1);
}

TEST_CASE("the consecutive steps that are replayed are the most usual ones") {
  // A slow start, a hiccup at 9, and a step that is missing between 12 and 14.
  std::vector<StepLength> steps;
  for (std::uint32_t number = 1; number <= 20; ++number)
    if (number != 13)
      steps.push_back({number, number < 4 ? 300.0 : number == 9 ? 900.0 : 100.0, 10});

  CHECK(usual_consecutive_steps(steps, 3) == Numbers{4, 5, 6});
  CHECK(usual_consecutive_steps(steps, 1).size() == 1);
  // No run has 13 steps: the longest is 1 to 12.
  CHECK(usual_consecutive_steps(steps, 13).size() == 12);
  CHECK(usual_consecutive_steps({}, 3).empty());
}

TEST_CASE("steps differ if half of them lie more than a twentieth apart") {
  auto steps = [](double other) {
    std::vector<StepLength> all;
    for (std::uint32_t number = 0; number < 40; ++number)
      all.push_back({number, number % 2 == 0 ? 100.0 : other, 0});
    return all;
  };

  CHECK_FALSE(lengths_differ(steps(103)));
  CHECK(lengths_differ(steps(110)));
}
