// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/by_kernels.h"
#include "analysis/steps/step_builder.h"
#include "analysis/steps/step_results.h"
#include "analysis/timeline/timeline.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

timeline::Timeline trace_of_two_ranks() {
  timeline::Timeline trace;
  for (int rank : {0, 1}) {
    auto& one = trace.ranks.emplace_back();
    one.rank = rank;
    one.cells[1].steps = 4;
    one.cells[1].parts = {.length_ns = 4'000,
                          .communication_ns = 1'200,
                          .hidden_ns = 800 + 80 * rank,
                          .compute_ns = 3'000,
                          .exposed_wait_ns = 100,
                          .exposed_transfer_ns = 300 - 80 * rank};
  }
  return trace;
}

} // namespace

TEST_CASE("Kernels tell what is hidden and exposed of a step, on the mean of its ranks") {
  const auto cells = steps::by_kernels(trace_of_two_ranks(), 7);

  REQUIRE(cells.size() == 1);
  const steps::ByKernels& one = cells.at(1);
  CHECK(one.trial == 7);
  CHECK(one.steps == 8);
  CHECK(one.step_ns == Approx(1'000));
  CHECK(one.compute_ns == Approx(750));
  CHECK(one.communication_ns == Approx(300));
  CHECK(one.hidden_ns == Approx(210));
  CHECK(one.exposed_ns == Approx(90));
}

TEST_CASE("A launch of several steps is divided among them") {
  steps::ByKernels one = steps::by_kernels(trace_of_two_ranks(), 7).at(1);

  one.divide(4);

  CHECK(one.steps == 32);
  CHECK(one.step_ns == Approx(250));
  CHECK(one.exposed_ns == Approx(22.5));
}

TEST_CASE("Where kernels were lost or not traced they tell nothing of steps") {
  timeline::Timeline lossy = trace_of_two_ranks();
  lossy.ledger.own_queue = 1;
  timeline::Timeline unexplained = trace_of_two_ranks();
  unexplained.ledger.launches_seen = 10;
  unexplained.ledger.kernels_delivered = 9;
  timeline::Timeline untraced = trace_of_two_ranks();
  untraced.ranks[1].from_nccl = true;

  CHECK(steps::by_kernels(lossy, 7).empty());
  CHECK(steps::by_kernels(unexplained, 7).empty());
  CHECK(steps::by_kernels(untraced, 7).empty());
}

TEST_CASE("A step has what kernels told of its own setting and cell alone") {
  RunBuilder run(2);
  for (const std::vector<model::Setting>& settings :
       {std::vector<model::Setting>{}, {{"NCCL_MAX_CTAS", "4"}}}) {
    auto trial = run.trial(settings);
    for (auto parts : {model::StepParts::all, model::StepParts::communication})
      add_step_cell(
          *trial, {.label = {.model = "m", .ranks = {0, 1}, .parts = parts}, .lengths = {{}, {}}});
  }
  const steps::TracedCells traced{{1, steps::by_kernels(trace_of_two_ranks(), 1)}};

  const auto pooled = setting_results(run);
  const auto results = steps::step_results(run, pooled, traced);

  REQUIRE(results.size() == 4);
  for (const steps::StepResult& one : results)
    CHECK(one.by_kernels.has_value() ==
          (!one.is_default && one.step.parts == model::StepParts::communication));
}
