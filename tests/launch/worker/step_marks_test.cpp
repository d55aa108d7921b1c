// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/synthetic_backend.h"
#include "launch/worker/local_run.h"
#include "launch/worker/null_backend.h"
#include "launch/worker/step_marks.h"
#include "support/catch.h"

#include <set>

using namespace ncclprobe;
using namespace ncclprobe::model;
using support::LocalRun;
using support::options_for;

namespace {

constexpr std::uint64_t k_us = 1000;
constexpr std::uint64_t k_count = 4096;

// Operations of the step below.
enum Op {
  step_begin,
  spin,
  record_start,
  wait,
  bucket_begin,
  reduce,
  bucket_end,
  record_end,
  wait_end
};
constexpr int k_step_end = 9;

// 100 us of compute, then an all_reduce on a separate stream.
Cell step_cell(std::uint64_t spin_ns = 100 * k_us) {
  Cell cell;
  cell.label = {StepLabel{}, k_count * 4};
  Schedule& step = cell.schedule;
  step.streams = {{"compute"}, {"communication"}};
  step.communicators = {{"world"}};
  step.buffers = {{"bucket", k_count * 4}};
  step.operations = {
      {MarkerOp{0, "step"}},
      {SpinOp{0, spin_ns}},
      {RecordEventOp{0, 0}},
      {WaitEventOp{1, 0}},
      {MarkerOp{1, "bucket 0", Activity::communication, MarkerEdge::begin}},
      {CollectiveOp{Collective::all_reduce, 0, 1, {0}, {0}, k_count}},
      {MarkerOp{1, "bucket 0", Activity::communication, MarkerEdge::end}},
      {RecordEventOp{1, 1}},
      {WaitEventOp{0, 1}},
      {MarkerOp{0, "step end"}},
  };
  step.timed = {0, 10};
  step.fills = {{0, {0}, k_count}};
  step.checks = {{Collective::all_reduce, 0, {0}, k_count}};
  cell.timing = {.warmups = 1, .iterations = 4, .batches = 3, .mode = TimingMode::steps};
  return cell;
}

backend::Options without_noise(int ranks) {
  backend::Options options = options_for(ranks);
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  return options;
}

// The marks of one batch and step, by operation.
std::map<int, std::int64_t> marks_of(const CellRecord& result, int batch, int iteration) {
  std::map<int, std::int64_t> found;
  for (const Mark& mark : result.marks)
    if (mark.batch == batch && mark.iteration == iteration)
      found[mark.operation] = mark.at_ns;
  return found;
}

} // namespace

TEST_CASE("every marker of every step is timed, exactly where time is exact") {
  LocalRun run(backend::make_synthetic_backend(without_noise(2)), 2);

  auto results = run.run(step_cell());

  REQUIRE(results.size() == 2);
  for (int rank : {0, 1}) {
    const CellRecord& result = results[static_cast<std::size_t>(rank)];
    REQUIRE(result.outcome.ok());
    REQUIRE(result.samples.size() == 3);
    CHECK(result.samples[0].iterations == 4);
    REQUIRE(result.marks.size() == 3 * 4 * 4);
    auto first = marks_of(result, 0, 0);
    std::int64_t step_ns = first.at(k_step_end);
    std::int64_t reduce_ns = first.at(bucket_end) - first.at(bucket_begin);
    CHECK(reduce_ns > 0);
    CHECK(first == std::map<int, std::int64_t>{{step_begin, 0},
                                               {bucket_begin, 100 * k_us},
                                               {bucket_end, 100 * k_us + reduce_ns},
                                               {k_step_end, 100 * k_us + reduce_ns}});
    for (int batch = 0; batch < 3; ++batch)
      for (int iteration = 0; iteration < 4; ++iteration)
        for (auto [operation, at_ns] : marks_of(result, batch, iteration))
          CHECK(at_ns == first.at(operation) + iteration * step_ns);
    CHECK(result.samples[0].elapsed_ns == 4 * step_ns);
    for (const Mark& mark : result.marks)
      CHECK(mark.rank == rank);
    CHECK(
        std::is_sorted(result.marks.begin(), result.marks.end(), [](const Mark& a, const Mark& b) {
          return std::tie(a.batch, a.iteration, a.operation) <
                 std::tie(b.batch, b.iteration, b.operation);
        }));
  }
}

TEST_CASE("marks on the CPU are in the order of the streams, and the data is checked apart") {
  auto results = LocalRun(2).run(step_cell(2000 * k_us));

  REQUIRE(results.size() == 2);
  for (const CellRecord& result : results) {
    INFO(result.outcome.reason);
    REQUIRE(result.outcome.ok());
    CHECK(result.check.checked);
    CHECK(result.check.launches == 3);
    CHECK(result.check.method == "a separate launch after every batch, inputs restored");
    REQUIRE(result.marks.size() == 3 * 4 * 4);
    for (int batch = 0; batch < 3; ++batch) {
      std::int64_t before_ns = 0;
      for (int iteration = 0; iteration < 4; ++iteration) {
        auto marks = marks_of(result, batch, iteration);
        CHECK(marks.at(step_begin) >= before_ns);
        CHECK(marks.at(bucket_begin) - marks.at(step_begin) >= 2'000'000);
        CHECK(marks.at(bucket_end) >= marks.at(bucket_begin));
        CHECK(marks.at(k_step_end) >= marks.at(bucket_end));
        before_ns = marks.at(k_step_end);
      }
      CHECK(before_ns <= result.samples[static_cast<std::size_t>(batch)].elapsed_ns);
    }
  }
}

TEST_CASE("data that a step gets wrong is wrong data in steps mode too") {
  Cell cell = step_cell();
  cell.schedule.checks[0].op = ReduceOp::max;

  auto results = LocalRun(2).run(cell);

  CHECK(results[0].outcome.kind == OutcomeKind::wrong_data);
  CHECK_THAT(results[0].check.first_wrong, ContainsSubstring("launch after batch 1"));
}

TEST_CASE("markers have roles, and those outside the timed region are not timed") {
  Cell cell = step_cell();
  cell.schedule.operations[bucket_begin].ranks = {1};
  cell.schedule.operations.push_back({MarkerOp{0, "after"}});

  auto results = LocalRun(backend::make_synthetic_backend(options_for(2)), 2).run(cell);

  auto operations = [&](std::size_t local_rank) {
    std::set<int> all;
    for (const Mark& mark : results[local_rank].marks)
      all.insert(mark.operation);
    return all;
  };
  CHECK(operations(0) == std::set<int>{step_begin, bucket_end, k_step_end});
  CHECK(operations(1) == std::set<int>{step_begin, bucket_begin, bucket_end, k_step_end});
}

TEST_CASE("a rank that only looks on has no samples of the step, and the others' are not less") {
  Cell cell = step_cell();
  for (Operation& operation : cell.schedule.operations)
    operation.ranks = {0, 1};
  cell.schedule.communicators = {{"two", {0, 1}}};

  auto results = LocalRun(backend::make_synthetic_backend(without_noise(3)), 3).run(cell);

  CHECK(results[0].samples.size() == 3);
  CHECK(results[1].samples.size() == 3);
  CHECK(results[2].outcome.ok());
  CHECK(results[2].samples.empty());
  CHECK(results[2].marks.empty());
}

TEST_CASE("in other modes markers are not timed") {
  for (TimingMode mode : {TimingMode::batch, TimingMode::events, TimingMode::latency}) {
    Cell cell = step_cell();
    cell.timing.mode = mode;

    auto results = LocalRun(backend::make_synthetic_backend(options_for(2)), 2).run(cell);

    CHECK(results[0].outcome.ok());
    CHECK(results[0].marks.empty());
  }
}

TEST_CASE("steps of one kind of compute run on the CPU and on the synthetic backend") {
  Cell cell = step_cell();
  Schedule& step = cell.schedule;
  step.buffers.push_back({"scratch", 1 << 16});
  step.operations[spin] = {
      GemmOp{.stream = 0, .a = {1}, .b = {1, 4096}, .c = {1, 8192}, .m = 32, .n = 32, .k = 32}};
  step.operations.insert(step.operations.begin() + k_step_end,
                         {OptimizerOp{0, {1}, {1, 16384}, {1, 32768}, 1024}});
  step.operations.insert(step.operations.begin() + k_step_end,
                         {ConvertOp{0, {1}, {1, 16384}, 1024, DataType::f32, DataType::bf16}});
  step.timed.last += 2;

  for (bool synthetic : {false, true}) {
    auto results = synthetic
                       ? LocalRun(backend::make_synthetic_backend(options_for(2)), 2).run(cell)
                       : LocalRun(2).run(cell);
    INFO(results[0].outcome.reason);
    CHECK(results[0].outcome.ok());
    CHECK(results[0].marks.size() == 3 * 4 * 4);
  }
}

TEST_CASE("the pool of events and the number of marks are bounded, and it is said") {
  using worker::mark_limits;
  using worker::MarkLimits;
  Schedule schedule = step_cell().schedule;
  auto remark = [&](int wanted, const MarkLimits& limits, int batches) {
    return worker::remark_on_marks(schedule, wanted, limits, batches);
  };

  MarkLimits small = mark_limits(20, 8 * 100, 100);
  MarkLimits large = mark_limits(500, 8 * 1000, 1000);
  MarkLimits absurd = mark_limits(20, 1'000'000, 1'000'000);
  MarkLimits none = mark_limits(20, 0, 0);

  CHECK(small.launches == 20);
  CHECK(small.batches == 250);
  CHECK(remark(20, small, 100).empty());
  CHECK(large.launches == 25);
  CHECK(large.batches == 20);
  CHECK(remark(500, large, 30) == "batches of 25 steps instead of 500, so that their marks fit; "
                                  "marks of the first 20 batches only");
  CHECK(absurd.launches == 1);
  CHECK(absurd.batches == 1);
  CHECK(none.launches == 20);
}

TEST_CASE("a step with very many markers runs in smaller batches") {
  Cell cell = support::make_step_of(20'000, TimingMode::steps); // 4 of 10 are markers
  cell.timing.iterations = 60;
  cell.timing.batches = 3;

  auto results = LocalRun(support::make_null_backend(), 1).run(cell);

  REQUIRE(results[0].samples.size() == 3);
  CHECK(results[0].samples[0].iterations == 25);
  CHECK(results[0].marks.size() == 2 * 25 * 8000);
  CHECK_THAT(results[0].check.method, ContainsSubstring("batches of 25 steps instead of 60"));
  CHECK_THAT(results[0].check.method, ContainsSubstring("marks of the first 2 batches only"));
}

TEST_CASE("a marker in a graph is timed in the last launch of a batch") {
  auto backend = backend::make_synthetic_backend(options_for(1));
  auto device = backend->open_device(0);
  auto stream = device->open_stream(0);
  Schedule schedule = step_cell().schedule;
  schedule.capture = Region{spin, k_step_end};
  std::vector<worker::LocalRankState> local_ranks(1);
  local_ranks[0].device = device.get();
  worker::StepMarks marks(schedule, local_ranks);
  auto& outside = marks.lane(0, step_begin);
  auto& inside = marks.lane(0, bucket_begin);
  inside.record(*stream); // captured: before anything is timed
  marks.make_events(3);
  std::vector<CellRecord> results(1);

  for (int launch = 0; launch < 3; ++launch) {
    marks.enter_launch(launch);
    outside.record(*stream);
    stream->spin(1000);
    inside.record(*stream);
  }
  marks.enter_launch(-1);
  outside.record(*stream); // belongs to no batch
  marks.read(7, 3, results);

  CHECK(results[0].marks == std::vector<Mark>{{0, 7, 0, step_begin, 0},
                                              {0, 7, 1, step_begin, 1000},
                                              {0, 7, 2, step_begin, 2000},
                                              {0, 7, 2, bucket_begin, 3000}});
  CHECK(&marks.lane(0, bucket_begin) == &inside);
  CHECK(worker::remark_on_marks(schedule, 3, {3, 3}, 3) ==
        "marks within the graph are of the last step of each batch only");
}

TEST_CASE("issuing a step of 1000 operations costs the runner less than 3 us each") {
  for (TimingMode mode : {TimingMode::batch, TimingMode::steps}) {
    INFO(to_string(mode));
    CHECK(support::overhead_ns(1000, mode) < 3000);
  }
}
