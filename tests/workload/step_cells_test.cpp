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
    all.push_back(cell.label.variant);
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
  CHECK(cell.label.workload == "ddp_step");
  CHECK(cell.label.bytes == 4 * tests::small_model().parameter_count());
  CHECK(cell.timing.mode == TimingMode::steps);
  CHECK(read_step_label(cell.label)->ranks == std::vector<int>{0, 1});
  CHECK(cells->left_out.empty());
}

TEST_CASE("under strong scaling the ranks share the batch, where it can be shared") {
  StepMeasurement all = measurement();
  all.steps.front().scaling = Scaling::strong;
  all.rank_sets = {{0}, {0, 1, 2}, {0, 1, 2, 3}};
  auto cells = make_step_cells(all, 4, step_timing("host"));

  REQUIRE(cells.has_value());
  CHECK(cells->cells.size() == 4);
  CHECK(read_step_label(cells->cells.back().label)->batch == 1);
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

  CHECK(option_words(request) ==
        std::vector<std::string>{"tf32", "bucket=10MiB", "view", "compress=bf16", "accumulate=4",
                                 "calibrated=12500us", "priority=-1", "graph"});
}

TEST_CASE("stages of a pipeline share one replica of the model, and its batch") {
  StepMeasurement all = measurement();
  all.steps.front().pattern = StepPattern::pipeline;
  all.steps.front().scaling = Scaling::strong;
  all.rank_sets = {{0, 1}};
  auto cells = make_step_cells(all, 2, step_timing("host"));

  REQUIRE(cells.has_value());
  REQUIRE(cells->cells.size() == 3);
  CHECK(read_step_label(cells->cells.front().label)->batch == 4);
}

TEST_CASE("every pattern has steps on the ranks that it can have") {
  StepMeasurement all = measurement();
  all.steps.clear();
  for (auto [pattern, name] : enum_names(StepPattern{})) {
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
