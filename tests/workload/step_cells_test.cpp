// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;

namespace {

StepMeasurement measurement() {
  StepMeasurement all;
  all.steps.emplace_back();
  all.steps.front().model = tests::small_model();
  all.steps.front().batch = 4;
  all.rank_sets = {{0}, {0, 1}, {0, 1, 2, 3}};
  return all;
}

std::vector<std::string> variants(const StepCells& cells) {
  std::vector<std::string> all;
  for (const Cell& cell : cells.cells)
    all.push_back(cell.label.variant());
  return all;
}

} // namespace

TEST_CASE("each set of ranks is measured whole, and as compute and communication alone") {
  auto cells = make_step_cells(measurement(), 4, step_timing("host"));

  REQUIRE(cells.has_value());
  CHECK(variants(*cells) ==
        std::vector<std::string>{
            "small ranks=0 batch=4 sequence=8 parts=all bucket=25MiB first=1MiB",
            "small ranks=0,1 batch=4 sequence=8 parts=all bucket=25MiB first=1MiB",
            "small ranks=0,1 batch=4 sequence=8 parts=compute bucket=25MiB first=1MiB",
            "small ranks=0,1 batch=4 sequence=8 parts=communication bucket=25MiB first=1MiB",
            "small ranks=0-3 batch=4 sequence=8 parts=all bucket=25MiB first=1MiB",
            "small ranks=0-3 batch=4 sequence=8 parts=compute bucket=25MiB first=1MiB",
            "small ranks=0-3 batch=4 sequence=8 parts=communication bucket=25MiB first=1MiB"});
  const Cell& cell = cells->cells[1];
  CHECK(cell.label.workload() == "ddp_step");
  CHECK(cell.label.bytes == 4 * tests::small_model().parameter_count());
  CHECK(cell.timing.mode == TimingMode::steps);
  CHECK(cell.label.step()->ranks == std::vector<int>{0, 1});
  CHECK(cells->left_out.empty());
}

TEST_CASE("with an input copy the copy is measured alone as well, and its data is checked") {
  StepMeasurement all = measurement();
  all.rank_sets = {{0}, {0, 1}};
  all.steps.front().input_copy = {.bytes = 4096, .from = Memory::pageable_host};
  auto cells = make_step_cells(all, 4, step_timing("host"));

  REQUIRE(cells.has_value());
  std::vector<StepParts> parts;
  for (const Cell& cell : cells->cells) {
    const StepLabel& label = *cell.label.step();
    CHECK(input_copy_text(label.options.input_copy) == "pageable:4KiB");
    if (label.ranks.size() == 2)
      parts.push_back(label.parts);
    CHECK(tests::marker_fault(cell.schedule, 4).empty());
    CHECK(tests::timed<CopyOp>(cell.schedule).size() == label.ranks.size());
    const BufferDecl& on_host = cell.schedule.buffers[cell.schedule.buffers.size() - 2];
    CHECK(on_host.memory == Memory::pageable_host);
    CHECK(on_host.bytes.at(0) == 4096);
    CHECK(on_host.bytes.at(3) == 0); // it looks on
    CHECK(cell.schedule.checks.back().count == 1024);
    CHECK(cell.schedule.checks.back().ranks == std::vector<int>{label.ranks.back()});
  }
  CHECK(parts == std::vector<StepParts>{StepParts::all, StepParts::compute,
                                        StepParts::communication, StepParts::copy});
  const Cell& alone = cells->cells.back();
  CHECK(tests::timed<CollectiveOp>(alone.schedule).empty());
  CHECK(tests::timed<GemmOp>(alone.schedule).empty());
}

TEST_CASE("a copy from pageable memory is asked for last, one from pinned memory first") {
  auto place_of_copy = [](Memory from) {
    StepRequest request;
    request.model = tests::small_model();
    request.input_copy = {.bytes = 4096, .from = from};
    Schedule schedule = tests::ddp_schedule(request, 2);
    std::vector<int> copies, products, waits;
    for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
      const auto& what = schedule.operations[static_cast<std::size_t>(i)].what;
      if (std::holds_alternative<CopyOp>(what))
        copies.push_back(i);
      else if (std::holds_alternative<GemmOp>(what))
        products.push_back(i);
      else if (const auto* wait = std::get_if<WaitEventOp>(&what); wait && wait->stream == 0)
        waits.push_back(i);
    }
    CHECK(copies.size() == 2);
    CHECK(waits.back() > copies.back()); // the next step needs the copied data
    return std::pair(copies.back() < products.front(), copies.front() > products.back());
  };

  CHECK(place_of_copy(Memory::pinned_host) == std::pair(true, false));
  CHECK(place_of_copy(Memory::pageable_host) == std::pair(false, true));
}

TEST_CASE("a graph does not copy from pageable memory") {
  StepMeasurement all = measurement();
  all.steps.front().launch = Launch::graph;
  all.steps.front().input_copy = {.bytes = 4096, .from = Memory::pageable_host};
  auto cells = make_step_cells(all, 4, step_timing("nvidia"));

  REQUIRE(cells.has_value());
  CHECK(cells->cells.empty());
  CHECK_THAT(cells->left_out.front(), ContainsSubstring("pinned memory"));
}

TEST_CASE("input copies are written as they are read") {
  for (const char* text : {"none", "pinned:64MiB", "pageable:1536KiB"})
    CHECK(input_copy_text(parse_input_copy(text).value()) == text);
  CHECK(parse_input_copy("pinned:64M")->bytes == std::uint64_t{64} << 20);
  for (const char* text :
       {"", "64M", "pinned", "pinned:", "pinned:0", "pinned:5B", "locked:64M", "pinned:1M-4M"}) {
    INFO(text);
    CHECK(parse_input_copy(text).error().code == base::Errc::invalid_argument);
  }
}

TEST_CASE("under strong scaling the ranks share the batch, where it can be shared") {
  StepMeasurement all = measurement();
  all.steps.front().scaling = Scaling::strong;
  all.rank_sets = {{0}, {0, 1, 2}, {0, 1, 2, 3}};
  auto cells = make_step_cells(all, 4, step_timing("host"));

  REQUIRE(cells.has_value());
  CHECK(cells->cells.size() == 4);
  CHECK(cells->cells.back().label.step()->batch == 1);
  REQUIRE(cells->left_out.size() == 1);
  CHECK(cells->left_out.front() == "ddp of small on ranks 0-2: a batch of 4 cannot be shared by 3 "
                                   "replicas of the model");
}

TEST_CASE("a step that does not fit into the memory is left out, with both sizes") {
  StepMeasurement all = measurement();
  all.memory_bytes = 1024;
  auto cells = make_step_cells(all, 4, step_timing("host"));

  REQUIRE(cells.has_value());
  CHECK(cells->cells.empty());
  REQUIRE(cells->left_out.size() == 3);
  CHECK_THAT(cells->left_out.front(),
             ContainsSubstring("GiB of buffers") && ContainsSubstring("are free"));
}

TEST_CASE("ranks outside of the trial are refused") {
  StepMeasurement all = measurement();
  all.rank_sets = {{0, 4}};
  CHECK(make_step_cells(all, 4, step_timing("host")).error().code == base::Errc::invalid_argument);
}

TEST_CASE("options of a step stand in its label") {
  StepRequest request;
  request.type = StepType::tf32;
  request.bucket_bytes = 10 << 20;
  request.bucket_view = true;
  request.compression = Compression::bf16;
  request.accumulate = 4;
  request.compute = {StepCompute::Kind::calibrated, 12'500'000};
  request.priority = -1;
  request.launch = Launch::graph;

  CHECK(request.words() == std::vector<std::string>{"tf32", "bucket=10MiB", "view", "compress=bf16",
                                                    "accumulate=4", "calibrated=12500us",
                                                    "priority=-1", "graph"});
}

TEST_CASE("the request behind a step is known from its label") {
  for (auto [pattern, name] : enum_names(StepPattern{}))
    for (Scaling scaling : {Scaling::weak, Scaling::strong}) {
      StepMeasurement all = measurement();
      all.rank_sets = {{0, 1}};
      StepRequest& request = all.steps.front();
      request.pattern = pattern;
      request.scaling = scaling;
      request.batch = 8;
      request.type = StepType::tf32;
      request.compute = {StepCompute::Kind::calibrated, 1'500'000};
      request.input_copy = {1 << 20, Memory::pageable_host};
      auto cells = make_step_cells(all, 2, {});
      REQUIRE(cells.has_value());
      if (cells->cells.empty())
        continue; // the pattern has no such step

      CHECK(request_of(*cells->cells.front().label.step(), request.model) == request);
    }
}

TEST_CASE("options that a pattern does not have set no two of its steps apart") {
  StepRequest request;
  request.pattern = StepPattern::fsdp;
  const StepOptions plain = request.of_pattern();
  request.bucket_bytes = 4096;
  request.tensor = 4;
  CHECK(request.of_pattern() == plain);
  request.prefetch = 2;
  CHECK(request.of_pattern() != plain);
}

TEST_CASE("stages of a pipeline share one replica of the model, and its batch") {
  StepMeasurement all = measurement();
  all.steps.front().pattern = StepPattern::pipeline;
  all.steps.front().scaling = Scaling::strong;
  all.rank_sets = {{0, 1}};
  auto cells = make_step_cells(all, 2, step_timing("host"));

  REQUIRE(cells.has_value());
  REQUIRE(cells->cells.size() == 3);
  CHECK(cells->cells.front().label.step()->batch == 4);
}

TEST_CASE("every pattern has steps on the ranks that it can have") {
  StepMeasurement all = measurement();
  all.steps.clear();
  for (auto [pattern, name] : enum_names(StepPattern{})) {
    if (pattern == StepPattern::replay) // made from a capture, not from a model
      continue;
    all.steps.emplace_back();
    all.steps.back().pattern = pattern;
    all.steps.back().model = tests::small_model();
    all.steps.back().batch = 4;
  }
  all.rank_sets = {{0, 1}};
  auto cells = make_step_cells(all, 4, step_timing("host"));

  REQUIRE(cells.has_value());
  CHECK(cells->cells.size() == 3 * (all.steps.size() - 1));
  CHECK(cells->left_out ==
        std::vector<std::string>{"moe of small on ranks 0,1: small has no experts"});
}

namespace {

// Bytes of a slice that hold a number when the first step begins: by the fills, last one last.
struct Bytes {
  std::vector<bool> written, negative;

  Bytes(const Schedule& schedule, int buffer, int rank)
      : written(schedule.buffers[static_cast<std::size_t>(buffer)].bytes.at(rank)),
        negative(written.size()) {
    for (const Fill& fill : schedule.fills) {
      if (fill.slice.buffer != buffer || !names_rank(fill.ranks, rank))
        continue;
      std::uint64_t begin = fill.slice.offset(rank);
      for (std::uint64_t i = begin; i < begin + fill.count * size_bytes(fill.type); ++i) {
        written[i] = true;
        negative[i] = fill.signs == Signs::both;
      }
    }
  }
};

} // namespace

TEST_CASE("all that an optimizer reads are numbers, and its moments are not negative") {
  int optimizers = 0;
  for (bool view : {false, true})
    for (StepPattern pattern : {StepPattern::ddp, StepPattern::fsdp, StepPattern::tp,
                                StepPattern::pipeline, StepPattern::ddp_tp}) {
      StepMeasurement all = measurement();
      all.steps.front().pattern = pattern;
      all.steps.front().bucket_view = view;
      all.rank_sets = {{0, 1, 2, 3}};
      auto cells = make_step_cells(all, 4, step_timing("host"));
      REQUIRE(cells.has_value());
      for (const Cell& cell : cells->cells)
        for (const auto& op : tests::timed<OptimizerOp>(cell.schedule)) {
          INFO(cell.label.workload() << " " << cell.label.variant());
          ++optimizers;
          Bytes gradients(cell.schedule, op.gradients.buffer, 0);
          Bytes weights(cell.schedule, op.weights.buffer, 0);
          Bytes state(cell.schedule, op.state.buffer, 0);
          std::uint64_t bytes = op.count * size_bytes(op.type);
          std::uint64_t missing = 0;
          std::uint64_t negative = 0;
          for (std::uint64_t i = 0; i < bytes; ++i) {
            missing += gradients.written[op.gradients.offset(0) + i] ? 0 : 1;
            missing += weights.written[op.weights.offset(0) + i] ? 0 : 1;
          }
          for (std::uint64_t i = 0; i < 2 * op.count * sizeof(float); ++i) {
            missing += state.written[op.state.offset(0) + i] ? 0 : 1;
            negative += state.negative[op.state.offset(0) + i] ? 1 : 0;
          }
          CHECK(missing == 0);
          CHECK(negative == 0);
        }
    }
  CHECK(optimizers > 10);
}
