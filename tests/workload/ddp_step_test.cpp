// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/ddp_step.h"
#include "workload/models/catalogue.h"
#include "workload/models/ddp_buckets.h"
#include "workload/plan.h"
#include "workload/schedule_rules.h"
#include "workload/step_builder.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;
using tests::ddp_schedule;
using tests::flops;
using tests::timed;

namespace {

StepRequest ddp_request() {
  StepRequest request;
  request.model = tests::small_model();
  request.batch = 2;
  request.bucket_bytes = 3000;
  return request;
}

std::uint64_t converted(const Schedule& schedule) {
  std::uint64_t sum = 0;
  for (const ConvertOp& op : timed<ConvertOp>(schedule))
    sum += op.count;
  return sum;
}

} // namespace

TEST_CASE("a DDP step is sound in all its forms and on any number of ranks") {
  for (bool view : {false, true})
    for (Compression compression : {Compression::none, Compression::bf16, Compression::f16})
      for (int accumulate : {1, 3})
        for (auto kind :
             {StepCompute::Kind::gemm, StepCompute::Kind::none, StepCompute::Kind::calibrated})
          for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
            for (int ranks : {1, 2, 3, 4, 8}) {
              StepRequest request = ddp_request();
              request.bucket_view = view;
              request.compression = compression;
              request.accumulate = accumulate;
              request.compute = {kind, 1'000'000};
              CAPTURE(view, to_string(compression), accumulate, static_cast<int>(kind),
                      to_string(parts), ranks);

              Schedule schedule = ddp_schedule(request, ranks, parts);

              auto checked = check_schedule(schedule, ranks);
              CHECK((checked ? "" : checked.error().message) == "");
              CHECK(tests::marker_fault(schedule, ranks) == "");
            }
}

TEST_CASE("buckets are reduced in the order of their gradients, each behind its copies") {
  Schedule schedule = ddp_schedule(ddp_request(), 2);

  auto labels = tests::stretches(schedule, StepBuilder::compute);
  auto reductions = tests::stretches(schedule, StepBuilder::communication);
  REQUIRE(reductions.size() > 2);
  CHECK(reductions.front() == "bucket 0");
  CHECK(labels[0] == "forward");
  CHECK(labels[1] == "backward 1");
  CHECK(labels[2] == "fill bucket 0");
  CHECK(labels[3] == "backward 2");
  CHECK(labels.back() == "optimizer");
  CHECK(labels[labels.size() - 2] == fmt::format("unpack bucket {}", reductions.size() - 1));
  CHECK(std::count(labels.begin(), labels.end(), "unpack bucket 0") == 1);
}

TEST_CASE("a rank gives the bytes of all parameters, in the type that is reduced") {
  for (const char* name : {"gpt2-124m", "resnet50", "bert-base"})
    for (int ranks : {2, 8}) {
      StepRequest request;
      request.model = make_model(name).value();
      std::uint64_t parameters = request.model.parameter_count();
      CAPTURE(name, ranks);

      CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) == 4 * parameters);
      CHECK(given_bytes(ddp_schedule(request, ranks, StepParts::communication), ranks - 1, ranks) ==
            4 * parameters);
      request.compression = Compression::bf16;
      CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) == 2 * parameters);
      request.compression = Compression::none;
      request.type = StepType::bf16;
      request.accumulate = 4;
      CHECK(given_bytes(ddp_schedule(request, ranks), 0, ranks) == 2 * parameters);
      CHECK(given_bytes(ddp_schedule(request, 1), 0, 1) == 0);
    }
}

TEST_CASE("the buckets of a step are PyTorch's") {
  StepRequest request;
  request.model = make_model("gpt2-124m").value();
  std::vector<std::uint64_t> reduced;
  for (const CollectiveOp& op : timed<CollectiveOp>(ddp_schedule(request, 2)))
    reduced.push_back(op.count);

  std::vector<std::uint64_t> buckets;
  for (const DdpBucket& one : ddp_buckets(request.model, ddp_options(std::nullopt)))
    buckets.push_back(one.elements);
  CHECK(reduced == buckets);
}

TEST_CASE("the products of a step are those of the model, three times in all") {
  StepRequest request;
  request.model = make_model("gpt2-124m").value();
  request.batch = 2;
  StepModel model = make_step_model(request.model);

  double expected = 2 * (model.forward_flops() + model.backward_flops());
  CHECK(flops(ddp_schedule(request, 2)) == Approx(expected));
  CHECK(model.backward_flops() == Approx(2 * model.forward_flops()));
  // 6 parameters a token, and attention: the products that the literature counts.
  double tokens = static_cast<double>(request.model.sequence);
  double weights = 124.4e6 - 1024 * 768; // positions are looked up
  double attention = 12.0 * 12 * 768 * tokens;
  CHECK(expected / 2 / tokens == Approx(6 * weights + attention).epsilon(0.01));
}

TEST_CASE("a layer's products have the layouts of its three passes") {
  StepRequest request = ddp_request();
  request.model.layers.erase(request.model.layers.begin(), request.model.layers.end() - 1);
  request.model.layers[0].parameters = {{"w", 37 * 12}};
  auto gemms = timed<GemmOp>(ddp_schedule(request, 1));

  REQUIRE(gemms.size() == 3);
  auto shape = [](const GemmOp& op) { return std::vector{op.m, op.n, op.k}; };
  CHECK(shape(gemms[0]) == std::vector<std::uint64_t>{37, 16, 12});
  CHECK(gemms[0].layout == GemmLayout::tn);
  CHECK(shape(gemms[1]) == std::vector<std::uint64_t>{12, 16, 37});
  CHECK(gemms[1].layout == GemmLayout::nn);
  CHECK(shape(gemms[2]) == std::vector<std::uint64_t>{12, 37, 16});
  CHECK(gemms[2].layout == GemmLayout::nt);
}

TEST_CASE("gradients are copied once each way, divided in a view, and left alone on one rank") {
  StepRequest request = ddp_request();
  std::uint64_t parameters = request.model.parameter_count();

  CHECK(converted(ddp_schedule(request, 2)) == 2 * parameters);
  CHECK(converted(ddp_schedule(request, 2, StepParts::communication)) == 0);
  CHECK(converted(ddp_schedule(request, 1)) == 0);
  request.bucket_view = true;
  CHECK(converted(ddp_schedule(request, 2)) == parameters);
  // To half, divided, and back; in a view nothing else.
  request.compression = Compression::bf16;
  CHECK(converted(ddp_schedule(request, 2)) == 3 * parameters);
}

TEST_CASE("only the last of several micro-steps communicates") {
  StepRequest request = ddp_request();
  std::size_t once = timed<GemmOp>(ddp_schedule(request, 2)).size();
  std::size_t reductions = timed<CollectiveOp>(ddp_schedule(request, 2)).size();
  request.accumulate = 3;
  Schedule schedule = ddp_schedule(request, 2);

  CHECK(timed<GemmOp>(schedule).size() == 3 * once);
  CHECK(timed<CollectiveOp>(schedule).size() == reductions);
  bool reduced = false;
  int forwards = 0;
  for (const Operation& operation : schedule.operations) {
    reduced = reduced || std::holds_alternative<CollectiveOp>(operation.what);
    const auto* marker = std::get_if<MarkerOp>(&operation.what);
    if (marker && marker->label == "forward" && marker->edge == MarkerEdge::begin) {
      ++forwards;
      CHECK_FALSE(reduced);
    }
  }
  CHECK(forwards == 3);
}

TEST_CASE("a calibrated step takes the given time backwards, and half of it forwards") {
  StepRequest request;
  request.model = make_model("bert-base").value();
  request.batch = 4;
  request.compute = {StepCompute::Kind::calibrated, 30'000'000};
  Schedule schedule = ddp_schedule(request, 2);

  double sum_ns = 0;
  for (const SpinOp& op : timed<SpinOp>(schedule))
    sum_ns += static_cast<double>(op.duration_ns);
  CHECK(sum_ns == Approx(45e6).epsilon(1e-4));
  CHECK(timed<GemmOp>(schedule).empty());
}

TEST_CASE("ranks that look on have no memory and no operations") {
  auto schedule = make_ddp_step(ddp_request(), {4, {1, 3}, StepParts::all});

  REQUIRE(schedule.has_value());
  CHECK(check_schedule(*schedule, 4).has_value());
  for (const BufferDecl& buffer : schedule->buffers)
    CHECK(buffer.bytes.at(2) == 0);
  for (const Operation& operation : schedule->operations)
    if (!std::holds_alternative<CollectiveOp>(operation.what))
      CHECK(operation.ranks == std::vector<int>{1, 3});
  CHECK(schedule->communicators.at(0).ranks == std::vector<int>{1, 3});
}

TEST_CASE("a step has the memory of weights, gradients, buckets and moments") {
  StepRequest request;
  request.model = make_model("bert-base").value();
  request.compute.kind = StepCompute::Kind::none;
  double parameters = static_cast<double>(request.model.parameter_count());
  auto bytes = [&](const StepRequest& one) {
    Cell cell;
    cell.schedule = ddp_schedule(one, 2);
    return static_cast<double>(peak_bytes({cell}));
  };

  CHECK(bytes(request) / parameters == Approx(4 + 8 + 4 + 4).epsilon(0.001));
  request.bucket_view = true;
  CHECK(bytes(request) / parameters == Approx(4 + 8 + 4).epsilon(0.001));
  request.type = StepType::bf16;
  request.optimizer = false;
  CHECK(bytes(request) / parameters == Approx(2 + 2).epsilon(0.001));
  double without_input = bytes(request);
  request.input_copy = {std::uint64_t{1} << 20, Memory::pageable_host};
  CHECK(bytes(request) - without_input == Approx(1 << 20)); // the host's side is no device memory
}

TEST_CASE("what is in half precision already is not compressed") {
  StepRequest request = ddp_request();
  request.type = StepType::bf16;
  request.compression = Compression::bf16;

  CHECK(make_ddp_step(request, {2, {0, 1}, StepParts::all}).error().code ==
        base::Errc::unsupported);
}

TEST_CASE("sums that outgrow f16 never reach the weights") {
  auto read_by_optimizer = [](StepType type, Compression compression, bool view, int ranks) {
    StepRequest request = ddp_request();
    request.type = type;
    request.compression = compression;
    request.bucket_view = view;
    Schedule schedule = ddp_schedule(request, ranks);
    auto ops = timed<OptimizerOp>(schedule);
    REQUIRE(ops.size() == 1);
    return schedule.buffers[static_cast<std::size_t>(ops[0].gradients.buffer)].name;
  };
  for (bool view : {false, true}) {
    CHECK(read_by_optimizer(StepType::f16, Compression::none, view, 2) == "weights");
    CHECK(read_by_optimizer(StepType::f32, Compression::f16, view, 2) == "weights");
    CHECK(read_by_optimizer(StepType::f32, Compression::bf16, view, 2) ==
          (view ? "buckets" : "gradients"));
    CHECK(read_by_optimizer(StepType::f16, Compression::none, view, 1) == "buckets");
  }
}

TEST_CASE("found infinities are shared behind the last gradient, and the optimizer waits for it") {
  for (bool view : {false, true}) {
    StepRequest request = ddp_request();
    request.bucket_view = view;
    Schedule without = ddp_schedule(request, 3);
    request.found_inf = true;
    Schedule schedule = ddp_schedule(request, 3);
    CAPTURE(view);

    auto checked = check_schedule(schedule, 3);
    CHECK((checked ? "" : checked.error().message) == "");
    CHECK(tests::marker_fault(schedule, 3) == "");
    CHECK(given_bytes(schedule, 0, 3) == given_bytes(without, 0, 3) + 4);
    CHECK(given_bytes(ddp_schedule(request, 3, StepParts::communication), 0, 3) ==
          given_bytes(schedule, 0, 3));
    CHECK(tests::stretches(schedule, StepBuilder::communication).back() == "found inf");
    CHECK(tests::stretches(schedule, StepBuilder::compute).back() == "optimizer");
    const CollectiveOp flag = timed<CollectiveOp>(schedule).back();
    CHECK(flag.count == 1);
    CHECK(flag.type == DataType::f32);
    CHECK(flag.op == ReduceOp::sum);

    int shared = -1; // event after the sum
    bool waited = false;
    for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
      const auto& what = schedule.operations[static_cast<std::size_t>(i)].what;
      if (const auto* record = std::get_if<RecordEventOp>(&what))
        shared = record->stream == StepBuilder::communication ? record->event : shared;
      else if (const auto* wait = std::get_if<WaitEventOp>(&what))
        waited = wait->stream == StepBuilder::compute && wait->event == shared;
      else if (std::holds_alternative<OptimizerOp>(what))
        CHECK(waited);
    }
  }
  StepRequest alone = ddp_request();
  alone.found_inf = true;
  CHECK(given_bytes(ddp_schedule(alone, 1), 0, 1) == 0);
  alone.pattern = StepPattern::pipeline;
  CHECK_FALSE(make_step(alone, {2, {0, 1}, StepParts::all}).has_value());
}

TEST_CASE("a captured step is captured from end to end") {
  StepRequest request = ddp_request();
  request.launch = Launch::graph;
  Schedule schedule = ddp_schedule(request, 2);

  REQUIRE(schedule.capture.has_value());
  CHECK(*schedule.capture == schedule.timed);
}
