// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/ddp_step.h"
#include "workload/models/catalogue.h"
#include "workload/schedule_rules.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"
#include "workload/tensor_parallel.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;
using tests::ddp_schedule;
using tests::first_ranks;
using tests::flops;
using tests::timed;

namespace {

StepRequest request_of(StepPattern pattern, const char* name) {
  StepRequest request;
  request.pattern = pattern;
  request.model = make_model(name).value();
  request.batch = 2;
  return request;
}

} // namespace

TEST_CASE("ranks that share layers are neighbours, and each part has its own data parallel group") {
  StepRequest request = request_of(StepPattern::ddp_tp, "linear:64x2");
  auto grid = make_rank_grid(request, {4, 5, 6, 7});

  REQUIRE(grid.has_value());
  CHECK(grid->tensor == 2);
  CHECK(grid->replicas() == 2);
  CHECK(grid->tensor_groups == std::vector<std::vector<int>>{{4, 5}, {6, 7}});
  CHECK(grid->data_groups == std::vector<std::vector<int>>{{4, 6}, {5, 7}});
  request.tensor = 3;
  CHECK(make_rank_grid(request, {0, 1, 2, 3}).error().code == base::Errc::unsupported);
  request.pattern = StepPattern::tp;
  request.tensor = 0;
  CHECK(make_rank_grid(request, first_ranks(8))->tensor == 8);
  CHECK(make_rank_grid(request, first_ranks(1))->tensor == 1);
}

TEST_CASE("the parts of a model have its parameters and products among them") {
  ModelSpec whole = make_model("llama3-8b:2").value();
  for (int parts : {2, 4, 8}) {
    auto part = tensor_parallel_part(whole, parts);
    REQUIRE(part.has_value());
    std::uint64_t norms = 0;
    for (const Layer& layer : whole.layers)
      if (layer.kind == LayerKind::other)
        norms += layer.parameters.front().elements;
    auto n = static_cast<std::uint64_t>(parts);

    CHECK((part->parameter_count() - norms) * n == whole.parameter_count() - norms);
    CHECK(make_step_model(*part).forward_flops() * parts ==
          Approx(make_step_model(whole).forward_flops()));
  }
}

TEST_CASE("biases of rows and norms are whole on every rank, those of columns are not") {
  ModelSpec part = tensor_parallel_part(tests::small_model(), 2).value();
  auto elements = [](const Layer& layer) {
    std::vector<std::uint64_t> all;
    for (const Parameter& one : layer.parameters)
      all.push_back(one.elements);
    return all;
  };
  constexpr std::uint64_t w = tests::k_small_width;

  CHECK(elements(part.layers[1]) ==
        std::vector<std::uint64_t>{w, 3 * w * w / 2, 3 * w / 2, w * w / 2, w});
  CHECK(elements(part.layers[2]) ==
        std::vector<std::uint64_t>{4 * w * w / 2, 4 * w / 2, 4 * w * w / 2, w});
}

TEST_CASE("what does not divide is not cut") {
  CHECK(tensor_parallel_part(make_model("gpt2-124m").value(), 8).error().message ==
        "12 heads of transformer.h.0.attn cannot be shared by 8 ranks");
  CHECK(tensor_parallel_part(make_model("mixtral-8x7b:1").value(), 2).error().code ==
        base::Errc::unsupported);
}

TEST_CASE("tensor parallel steps are sound in all their forms") {
  for (StepPattern pattern : {StepPattern::tp, StepPattern::ddp_tp})
    for (bool sequence : {false, true})
      for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
        for (int ranks : {1, 2, 4, 8}) {
          StepRequest request;
          request.pattern = pattern;
          request.model = tests::small_model();
          request.sequence_parallel = sequence;
          if (pattern == StepPattern::tp && ranks > 4)
            continue; // there are 4 heads
          CAPTURE(to_string(pattern), sequence, to_string(parts), ranks);

          Schedule schedule = ddp_schedule(request, ranks, parts);

          auto checked = check_schedule(schedule, ranks);
          CHECK((checked ? "" : checked.error().message) == "");
          CHECK(tests::marker_fault(schedule, ranks) == "");
        }
}

TEST_CASE("a rank gives to tensor parallelism what its formula says") {
  for (int ranks : {2, 4}) {
    StepRequest request = request_of(StepPattern::tp, "gpt2-124m");
    std::uint64_t output = 4 * request.batch * request.model.sequence * 768;
    std::uint64_t layers = 2 * 12;
    auto n = static_cast<std::uint64_t>(ranks);
    // Two embeddings: of words and of positions.
    std::uint64_t ends = 0;
    for (const Layer& layer : request.model.layers)
      ends += layer.kind == LayerKind::embedding || layer.kind == LayerKind::head ? 1 : 0;
    CAPTURE(ranks, ends);

    CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) == (2 * layers + ends) * output);
    request.sequence_parallel = true;
    CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) ==
          2 * layers * (output + output / n) + ends * output);
  }
}

TEST_CASE("two replicas of halves compute as much as two ranks, and reduce halves") {
  StepRequest mixed = request_of(StepPattern::ddp_tp, "gpt2-124m");
  StepRequest plain = request_of(StepPattern::ddp, "gpt2-124m");

  CHECK(flops(ddp_schedule(mixed, 4)) == Approx(flops(ddp_schedule(plain, 2)) / 2).epsilon(1e-3));
  std::uint64_t reduced = 0;
  Schedule schedule = ddp_schedule(mixed, 4);
  for (const CollectiveOp& op : timed<CollectiveOp>(schedule))
    if (schedule.communicators[static_cast<std::size_t>(op.communicator)].ranks ==
        std::vector<int>{0, 2})
      reduced += op.send.buffer == op.receive.buffer ? op.count : 0;
  CHECK(reduced == tensor_parallel_part(mixed.model, 2)->parameter_count());
}
