// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/ddp_step.h"
#include "workload/expert_parallel.h"
#include "workload/models/catalogue.h"
#include "workload/schedule_rules.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;
using tests::ddp_schedule;
using tests::first_ranks;
using tests::timed;

namespace {

StepRequest mixtral() {
  StepRequest request;
  request.pattern = StepPattern::moe;
  request.model = make_model("mixtral-8x7b:2", {.sequence = 128}).value();
  request.type = StepType::bf16;
  request.batch = 2;
  return request;
}

std::uint64_t expert_parameters(const ModelSpec& model) {
  std::uint64_t sum = 0;
  for (const Layer& layer : model.layers)
    if (layer.kind == LayerKind::experts)
      for (const Parameter& one : layer.parameters)
        sum += one.elements;
  return sum;
}

} // namespace

TEST_CASE("steps of experts are sound in all their forms") {
  for (bool view : {false, true})
    for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
      for (int ranks : {1, 2, 4, 8}) {
        StepRequest request = mixtral();
        request.bucket_view = view;
        CAPTURE(view, to_string(parts), ranks);

        Schedule schedule = ddp_schedule(request, ranks, parts);

        auto checked = check_schedule(schedule, ranks);
        CHECK((checked ? "" : checked.error().message) == "");
        CHECK(tests::marker_fault(schedule, ranks) == "");
      }
}

TEST_CASE("a rank gives its tokens four times to each layer of experts, and all other gradients") {
  for (int ranks : {2, 4, 8}) {
    StepRequest request = mixtral();
    std::uint64_t tokens = request.batch * 128 * 2 * 4096; // two experts each
    std::uint64_t shared = request.model.parameter_count() - expert_parameters(request.model);
    CAPTURE(ranks);

    CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) == 2 * (2 * 4 * tokens + shared));
  }
  CHECK(given_bytes(ddp_schedule(mixtral(), 1), 0, 1) == 0);
}

TEST_CASE("tokens go to their experts before these compute, and come back behind") {
  auto order = tests::stretches(ddp_schedule(mixtral(), 2), 2);

  REQUIRE(order.size() == 8);
  CHECK(order[0] == "dispatch model.layers.0.block_sparse_moe.experts");
  CHECK(order[1] == "combine model.layers.0.block_sparse_moe.experts");
  CHECK(order[4] == "combine backward model.layers.1.block_sparse_moe.experts");
  CHECK(order[7] == "dispatch backward model.layers.0.block_sparse_moe.experts");
}

TEST_CASE("each rank has its share of the experts and computes as much as ever") {
  StepRequest request = mixtral();
  ModelSpec part = expert_parallel_part(request.model, 4).value();

  CHECK(expert_parameters(part) * 4 == expert_parameters(request.model));
  CHECK(make_step_model(part).forward_flops() ==
        Approx(make_step_model(request.model).forward_flops()));
  CHECK(timed<GemmOp>(ddp_schedule(request, 4)).size() ==
        timed<GemmOp>(ddp_schedule(request, 1)).size());
}

TEST_CASE("a model without experts, or ranks that do not share them, is refused") {
  StepRequest request = mixtral();
  CHECK(make_ddp_step(request, {3, first_ranks(3), StepParts::all}).error().message ==
        "8 experts cannot be shared by 3 ranks");
  request.model = tests::small_model();
  CHECK(make_ddp_step(request, {2, first_ranks(2), StepParts::all}).error().message ==
        "small has no experts");
}
