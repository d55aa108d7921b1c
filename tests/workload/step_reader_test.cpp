// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/step_cells.h"
#include "workload/step_reader.h"
#include "workload/step_schedules.h"

using namespace ncclprobe;
using namespace ncclprobe::workload;

TEST_CASE("A step's request is read back from the label of its cell") {
  std::vector<StepRequest> requests;
  for (auto pattern : {StepPattern::ddp, StepPattern::fsdp, StepPattern::tp, StepPattern::pipeline,
                       StepPattern::ddp_tp, StepPattern::fsdp_tp}) {
    StepRequest one;
    one.pattern = pattern;
    one.model = tests::small_model();
    one.batch = 8;
    requests.push_back(one);
    one.bucket_bytes = 4096;
    one.bucket_view = one.pattern == StepPattern::ddp;
    one.type = StepType::tf32;
    one.optimizer = false;
    one.compute = {StepCompute::Kind::calibrated, 1'500'000};
    one.reshard = pattern != StepPattern::fsdp;
    one.scaling = Scaling::strong;
    one.memory = model::Memory::registered;
    one.input_copy = {1 << 20, model::Memory::pageable_host};
    if (pattern == StepPattern::ddp)
      one.compression = Compression::bf16;
    one.found_inf = pattern == StepPattern::ddp || pattern == StepPattern::fsdp;
    if (pattern == StepPattern::pipeline) {
      one.order = PipelineOrder::gpipe;
      one.micro_batches = 4;
    } else {
      one.accumulate = 2;
    }
    if (pattern == StepPattern::ddp_tp)
      one.sequence_parallel = true;
    requests.push_back(one);
  }
  for (const StepRequest& request : requests) {
    auto cells = make_step_cells({.steps = {request}, .rank_sets = {{0, 1}}}, 2, {});
    REQUIRE(cells.has_value());
    REQUIRE_FALSE(cells->cells.empty());
    const model::CellLabel& label = cells->cells.front().label;

    auto read = request_of(*read_step_label(label), label.type, request.model);

    REQUIRE(read.has_value());
    CHECK(option_words(*read) == option_words(request));
    CHECK(read->pattern == request.pattern);
    CHECK(read->batch == request.batch);
    CHECK(read->type == request.type);
    CHECK(read->compute == request.compute);
    CHECK(read->found_inf == request.found_inf);
  }
}

TEST_CASE("An option that a newer version wrote is refused") {
  StepLabel label{.pattern = "ddp", .model = "m", .ranks = {0}, .options = {"sparse=3"}};

  auto read = request_of(label, model::DataType::f32, tests::small_model());

  REQUIRE_FALSE(read.has_value());
  CHECK_THAT(read.error().text(), ContainsSubstring("sparse=3"));
}
