// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_program.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/step_cells.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace ncclprobe;
using namespace ncclprobe::analysis::cost_model;
using model::Activity;
using model::StepPattern;
using workload::StepRequest;

namespace {

StepRequest program_request(StepPattern pattern, const char* model = "linear:256x8") {
  StepRequest request;
  request.pattern = pattern;
  request.model = *workload::make_model(model);
  request.batch = 8;
  request.optimizer = false;
  return request;
}

model::Schedule schedule_on(const StepRequest& request, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  auto schedule = workload::make_step(request, {.world = ranks, .ranks = all});
  REQUIRE(schedule.has_value());
  return *schedule;
}

StepProgram program_on(const StepRequest& request, int ranks, int ranks_per_node) {
  std::vector<int> node_of;
  for (int rank = 0; rank < ranks; ++rank)
    node_of.push_back(rank / ranks_per_node);
  auto program = StepProgram::of(schedule_on(request, ranks), node_of);
  REQUIRE(program.has_value());
  return *program;
}

// So much for each stretch of an activity, however many operations it has.
std::vector<double> stretch_costs(const StepProgram& program,
                                  const std::map<Activity, double>& times_ns) {
  std::map<std::string, int> operations;
  for (const Work& work : program.works())
    ++operations[work.stretch];
  std::vector<double> costs;
  for (const Work& work : program.works()) {
    auto time = times_ns.find(work.activity);
    costs.push_back(time == times_ns.end() ? 0 : time->second / operations[work.stretch]);
  }
  return costs;
}

std::vector<double> same(const StepProgram& program, double time_ns) {
  return std::vector<double>(program.transfers().size(), time_ns);
}

} // namespace

TEST_CASE("A replayed data parallel step is the recurrence of its buckets") {
  StepRequest request = program_request(StepPattern::ddp);
  request.bucket_bytes = 600'000; // two layers each
  request.bucket_view = true;
  const StepProgram program = program_on(request, 4, 4);
  REQUIRE(program.is_alike());
  auto transfer_ns = [](const Transfer& one) { return 50 + static_cast<double>(one.bytes) / 4000; };
  std::vector<double> transfers;
  for (const Transfer& one : program.transfers())
    transfers.push_back(transfer_ns(one));
  const auto works = stretch_costs(program, {{Activity::forward, 400}, {Activity::backward, 100}});

  auto times = program.replay(transfers, works);

  // f_k = max(f_(k-1), b_k) + t(m_k): three buckets, ready each 100 after the one before.
  double ready_ns = 400, end_ns = 0;
  for (const auto& operation : schedule_on(request, 4).operations)
    if (const auto* one = std::get_if<model::CollectiveOp>(&operation.what)) {
      ready_ns += 100;
      end_ns = std::max(end_ns, ready_ns) +
               transfer_ns({model::Collective::all_reduce, 4, 4, 1, one->count * 4});
    }
  CHECK(ready_ns == 700);
  CHECK(times.step_ns == Approx(end_ns));
  CHECK(times.computing_ns == Approx(700));
  CHECK(times.exposed_ns() == Approx(end_ns - 700));
  CHECK(times.uncovered_ns == Approx(end_ns - 700));
}

TEST_CASE("A pipeline takes a forward and a backward pass more for each further stage") {
  for (auto order : {model::PipelineOrder::one_f_one_b, model::PipelineOrder::gpipe}) {
    StepRequest request = program_request(StepPattern::pipeline, "linear:256x4");
    request.micro_batches = 8;
    request.order = order;
    const StepProgram program = program_on(request, 4, 2);

    auto times =
        program.replay(same(program, 0),
                       stretch_costs(program, {{Activity::forward, 10}, {Activity::backward, 20}}));
    auto slow = program.replay(same(program, 1), std::vector<double>(program.works().size(), 0));

    CHECK_FALSE(program.is_alike());
    CHECK(times.step_ns == Approx((8 + 4 - 1) * 30));
    CHECK(times.computing_ns == Approx(8 * 30));
    CHECK(slow.step_ns >= 2 * 3); // there and back
  }
}

TEST_CASE("Messages in a node and between nodes are different transfers") {
  StepRequest request = program_request(StepPattern::pipeline, "linear:256x4");
  const StepProgram program = program_on(request, 4, 2);

  REQUIRE(program.transfers().size() == 2);
  for (const Transfer& one : program.transfers()) {
    CHECK(one.collective == model::Collective::send_recv);
    CHECK(one.bytes == 256 * 4); // a sample
  }
  CHECK(program.transfers()[0].ranks_per_node + program.transfers()[1].ranks_per_node == 3);
}

TEST_CASE("What is exchanged within layers waits and is waited for") {
  const StepProgram program = program_on(program_request(StepPattern::tp, "gpt2-124m:2"), 4, 4);
  const auto works = stretch_costs(program, {{Activity::forward, 10}, {Activity::backward, 10}});
  const double computing_ns = std::accumulate(works.begin(), works.end(), 0.0);

  auto times = program.replay(same(program, 100), works);

  // Two blocks of attention and MLP, the embedding forwards, the head backwards: both ways.
  CHECK(times.computing_ns == Approx(computing_ns));
  CHECK(times.step_ns == Approx(computing_ns + 10 * 100));
}

TEST_CASE("Groups of ranks that communicate at once share their node's wires") {
  StepRequest request = program_request(StepPattern::ddp_tp, "gpt2-124m:2");
  request.tensor = 2;
  const StepProgram program = program_on(request, 8, 4);

  bool data = false, tensor = false;
  for (const Transfer& one : program.transfers()) {
    CHECK(one.sharing == 2); // two of each on every node
    data = data || (one.ranks == 4 && one.ranks_per_node == 2);
    tensor = tensor || (one.ranks == 2 && one.ranks_per_node == 2);
  }
  CHECK(data);
  CHECK(tensor);
}

TEST_CASE("Sharded parameters are gathered ahead while another block computes") {
  const StepProgram program = program_on(program_request(StepPattern::fsdp, "gpt2-124m:4"), 8, 8);
  const auto works = stretch_costs(program, {{Activity::forward, 100}, {Activity::backward, 200}});
  const double computing_ns = std::accumulate(works.begin(), works.end(), 0.0);

  auto free = program.replay(same(program, 0), works);
  auto hidden = program.replay(same(program, 10), works);
  auto slow = program.replay(same(program, 10'000), works);

  CHECK(free.step_ns == Approx(computing_ns));
  // Only the first gathers and the last reduction are not behind computing.
  CHECK(hidden.exposed_ns() > 0);
  CHECK(hidden.exposed_ns() <= 6 * 10);
  CHECK(slow.step_ns > 9 * 10'000); // five gathers forwards, four backwards, and reductions
}

TEST_CASE("Steps on very many ranks are replayed as one rank's") {
  StepRequest request = program_request(StepPattern::fsdp_tp, "gpt2-124m:2");
  request.tensor = 4;
  const StepProgram program = program_on(request, 512, 8);

  CHECK(program.is_alike());
  CHECK(std::any_of(program.transfers().begin(), program.transfers().end(),
                    [](const Transfer& one) { return one.ranks == 128 && one.sharing == 4; }));
}

TEST_CASE("Some of the ranks that train are alike, as all are") {
  for (auto pattern : {StepPattern::ddp, StepPattern::fsdp, StepPattern::tp}) {
    const StepRequest request = program_request(pattern, "gpt2-124m:2");
    auto schedule = workload::make_step(request, {.world = 4, .ranks = {1, 3}});
    REQUIRE(schedule.has_value());
    auto some = StepProgram::of(*schedule, {0, 0, 0, 0});
    REQUIRE(some.has_value());
    const StepProgram all = program_on(request, 2, 2);

    CHECK(some->is_alike());
    CHECK(some->transfers() == all.transfers());
    REQUIRE(some->works().size() == all.works().size());
    const std::vector<double> works(all.works().size(), 10);
    CHECK(some->replay(same(*some, 100), works).step_ns ==
          Approx(all.replay(same(all, 100), works).step_ns));
  }
}

TEST_CASE("An input copy is no computing") {
  StepRequest request = program_request(StepPattern::ddp);
  request.input_copy = {.bytes = 1 << 20};
  const StepProgram program = program_on(request, 2, 2);

  auto times =
      program.replay(same(program, 0),
                     stretch_costs(program, {{Activity::forward, 10}, {Activity::host_copy, 90}}));

  CHECK(times.step_ns == Approx(90));
  CHECK(times.computing_ns == Approx(10));
}

TEST_CASE("A host that launches is no computing, but delays it") {
  model::Schedule schedule;
  schedule.streams = {{"compute"}, {"host"}};
  auto add = [&](auto op) { schedule.operations.push_back({std::move(op), {}}); };
  // Two steps in one launch. The host needs 70 for what the GPU computes in 10.
  for (int event : {0, 1}) {
    add(model::MarkerOp{0, "step"});
    add(model::SpinOp{1, 70, true});
    add(model::RecordEventOp{1, event});
    add(model::WaitEventOp{0, event});
    add(model::SpinOp{0, 10});
    add(model::MarkerOp{0, "step end"});
  }
  schedule.timed = {0, static_cast<int>(schedule.operations.size())};
  const auto program = StepProgram::of(schedule, {0});
  REQUIRE(program.has_value());
  std::vector<double> works;
  for (const Work& work : program->works())
    works.push_back(work.amount);

  const auto times = program->replay({}, works);

  CHECK(times.step_ns == Approx(2 * 70)); // of both: the host is ahead of the last 10
  CHECK(times.computing_ns == Approx(2 * 10));
  CHECK(times.uncovered_ns == 0);
}

TEST_CASE("What is no step is refused") {
  CHECK_FALSE(StepProgram::of({}, {0, 0}).has_value());
}
