// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/problems.h"
#include "analysis/report/written.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::StepParts;

TEST_CASE("steps that failed are named by their ranks and parts, not by bytes") {
  RunBuilder run(2);
  auto trial = run.trial();
  model::StepLabel step{.model = "m", .ranks = {0, 1}, .batch = 8};
  for (StepParts parts : {StepParts::all, StepParts::compute}) {
    step.parts = parts;
    add_step_cell(*trial, {.label = step, .bytes = 6'230'444'800});
    trial->cells.back().outcome = {model::OutcomeKind::failed, "out of memory", {1}};
  }
  trial->outcome = trial->cells.back().outcome;

  const std::string text = text_of(analysis::problem_report(run));

  CHECK_THAT(text, ContainsSubstring("ddp m, f32, batch 8, bucket=25MiB first=1MiB, 2 ranks; 2 "
                                     "ranks, compute alone: failed") &&
                       !ContainsSubstring("6230444800") && !ContainsSubstring("ddp_step"));
}

TEST_CASE("NCCL's messages are advised only if a worker came to NCCL") {
  for (const auto& [phase, told] : {std::pair{"started", false}, {"communicator_init", true}}) {
    CAPTURE(phase);
    RunBuilder run(1);
    run.header.backend = "nvidia";
    auto trial = run.trial();
    trial->outcome = {model::OutcomeKind::failed, "cudaSetDevice failed", {0}};
    for (model::WorkerRecord& worker : trial->workers)
      worker.last_phase = phase;

    const std::string text = text_of(analysis::problem_report(run));

    CHECK_THAT(text, ContainsSubstring("cudaSetDevice failed"));
    CHECK((text.find("NCCL_DEBUG=INFO") != std::string::npos) == told);
  }
}
