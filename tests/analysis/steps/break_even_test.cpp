// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/break_even.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using steps::BoundBy;

namespace {

struct Made {
  std::vector<SettingResult> pooled;
  std::vector<steps::StepResult> results;
  std::vector<steps::BreakEven> found;
};

// A process for each. The stretches of the step are those of step_builder.h, in ns.
Made made_of_processes(const std::vector<StepLengths>& processes, std::vector<int> ranks = {0, 1}) {
  RunBuilder run(2);
  for (const StepLengths& lengths : processes) {
    std::vector<StepLengths> of_ranks(ranks.size(), lengths);
    add_step_cell(*run.trial(), {.label = {.model = "m", .ranks = ranks}, .lengths = of_ranks});
  }
  Made out;
  out.pooled = setting_results(run);
  out.results = steps::step_results(run, out.pooled);
  out.found = steps::break_evens(out.results);
  return out;
}

Made made(const StepLengths& lengths, std::vector<int> ranks = {0, 1}) {
  return made_of_processes({lengths}, std::move(ranks));
}

} // namespace

TEST_CASE("a step that hides most of its transfers is bound by computing") {
  // Bucket 0 lies beside backward 2, of bucket 1 nothing is hidden: 20 of 380.
  Made made_of = made({.bucket_0 = 80, .bucket_1 = 20});

  REQUIRE(made_of.found.size() == 1);
  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::computing);
  CHECK(one.computing_ns == Approx(350));
  CHECK(one.transfer_ns == Approx(100));
  CHECK(one.exposed_ns == Approx(20));
  CHECK(*one.as_it_is_ns == Approx(350.0 * 100 / 80));
  CHECK_THAT(steps::in_words(one), ContainsSubstring("compute-bound"));
}

TEST_CASE("a step that is idle for long is not called compute-bound for hiding its transfers") {
  // 20 of 470 are exposed, in 100 nothing runs.
  Made made_of = made({.bucket_0 = 80, .bucket_1 = 20, .idle = 100});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::other);
  CHECK_THAT(steps::in_words(one), ContainsSubstring("not bound by transfers: it computes") &&
                                       ContainsSubstring("; of the step time 21.3% idle"));
}

TEST_CASE("a step that computes enough and exposes much is bound by its overlap") {
  Made made_of = made({.bucket_0 = 80, .bucket_1 = 200});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::overlap);
  CHECK(*one.as_it_is_ns == Approx(350.0 * 280 / 80));
  CHECK_THAT(steps::in_words(one), ContainsSubstring("; 280 ns of computing would be enough to"));
}

TEST_CASE("a step that transfers for longer than it computes is bound by the interconnect") {
  // 100 of bucket 0 are hidden beside backward 2, 900 are not.
  Made made_of = made({.bucket_0 = 500, .bucket_1 = 500});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::interconnect);
  CHECK(one.transfer_ns == Approx(1000));
  CHECK(one.exposed_ns == Approx(900));
  CHECK(*one.as_it_is_ns == Approx(3500));
  CHECK_THAT(steps::in_words(one), ContainsSubstring("interconnect-bound") &&
                                       ContainsSubstring("; 1.0 us of computing could hide all") &&
                                       ContainsSubstring("3.5 us at this step's overlap"));
}

TEST_CASE("where nothing is hidden no length of computing is said to hide it") {
  Made made_of = made({.backward_2 = 0, .bucket_0 = 500, .bucket_1 = 500});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.exposed_ns == Approx(1000));
  CHECK_FALSE(one.as_it_is_ns);
  CHECK_THAT(steps::in_words(one), ContainsSubstring("hides none of them"));
}

TEST_CASE("a rank by itself has no break-even") {
  CHECK(made({.bucket_0 = 80}, {0}).found.empty());
}

TEST_CASE("processes that agree leave one verdict possible") {
  // 200 of 560 are exposed, within a few.
  Made made_of = made_of_processes({{.bucket_0 = 80, .bucket_1 = 199},
                                    {.bucket_0 = 80, .bucket_1 = 200},
                                    {.bucket_0 = 80, .bucket_1 = 201}});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::overlap);
  CHECK(one.also_possible == std::vector<BoundBy>{});
  REQUIRE(one.transfer_interval_ns);
  CHECK(one.transfer_interval_ns->low < 280);
  CHECK(one.transfer_interval_ns->high > 280);
  REQUIRE(one.as_it_is_interval_ns);
  CHECK(one.as_it_is_interval_ns->low < 350.0 * 280 / 80);
  CHECK(one.as_it_is_interval_ns->high > 350.0 * 280 / 80);
  CHECK(one.exposed_share_interval->low > steps::k_bound_share);
}

TEST_CASE("a verdict that chance may turn names the other one") {
  // 20 to 70 of 380 to 430 are exposed: on either side of 10%.
  Made made_of = made_of_processes({{.bucket_0 = 80, .bucket_1 = 20},
                                    {.bucket_0 = 80, .bucket_1 = 45},
                                    {.bucket_0 = 80, .bucket_1 = 70}});

  const steps::BreakEven& one = made_of.found.front();
  CHECK(one.bound_by == BoundBy::overlap);
  CHECK(one.also_possible == std::vector<BoundBy>{BoundBy::computing});
  CHECK_THAT(steps::in_words(one), ContainsSubstring("overlap-bound or compute-bound: it"));
}

TEST_CASE("fewer than three processes have no intervals") {
  Made made_of = made_of_processes({{.bucket_1 = 20}, {.bucket_1 = 70}});

  const steps::BreakEven& one = made_of.found.front();
  CHECK_FALSE(one.transfer_interval_ns);
  CHECK_FALSE(one.exposed_share_interval);
  CHECK_FALSE(one.also_possible);
}
