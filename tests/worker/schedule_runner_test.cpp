// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The runner on the CPU backend, all ranks in this process: what the schedules of trial_test.cpp
// need must really run.
#include "backend/synthetic/synthetic_backend.h"
#include "host/host_backend.h"
#include "support/catch.h"
#include "support/local_rendezvous.h"
#include "worker/schedule_runner.h"
#include "workload/collective_benchmark.h"

using namespace ncclprobe;
using namespace ncclprobe::model;

namespace {

backend::Options options_for(int ranks) {
  backend::Options options;
  options.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  return options;
}

// A runner that drives all ranks itself.
class LocalRun {
public:
  LocalRun(std::unique_ptr<backend::Backend> backend, int ranks) : backend_(std::move(backend)) {
    std::vector<worker::Seat> seats;
    for (int rank = 0; rank < ranks; ++rank)
      seats.push_back({rank, backend_->open_device(rank)});
    runner_ = std::make_unique<worker::ScheduleRunner>(*backend_, std::move(seats), ranks, 1,
                                                       rendezvous_);
  }
  explicit LocalRun(int ranks) : LocalRun(host::make_backend(options_for(ranks)), ranks) {}

  std::vector<worker::CellResult> run(const Cell& cell) { return runner_->run(cell); }

private:
  std::unique_ptr<backend::Backend> backend_;
  support::LocalRendezvous rendezvous_;
  std::unique_ptr<worker::ScheduleRunner> runner_;
};

Cell quick(Cell cell) {
  cell.timing = {1, 2, 3, 0};
  return cell;
}

Cell all_reduce(std::uint64_t bytes, int ranks) {
  workload::CollectiveRequest request;
  request.bytes = bytes;
  request.ranks = ranks;
  return quick(workload::make_collective_cell(request, {}).value());
}

} // namespace

TEST_CASE("every rank delivers a sample per batch and checked data") {
  LocalRun run(3);

  auto results = run.run(all_reduce(4096, 3));

  REQUIRE(results.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const worker::CellResult& result = results[static_cast<std::size_t>(rank)];
    CHECK(result.outcome.ok());
    CHECK(result.check.kind == CheckResult::Kind::checked);
    CHECK(result.check.elements == 1024);
    REQUIRE(result.samples.size() == 3);
    CHECK(result.samples[2].rank == rank);
    CHECK(result.samples[2].batch == 2);
    CHECK(result.samples[2].iterations == 2);
    CHECK(result.samples[2].elapsed_ns > 0);
  }
}

TEST_CASE("data that is not what the schedule promises is wrong data, with the element named") {
  Cell cell = all_reduce(4096, 2);
  cell.schedule.checks[0].op = ReduceOp::max; // the sum that is run cannot be that

  auto results = LocalRun(2).run(cell);

  CHECK(results[0].outcome.kind == OutcomeKind::wrong_data);
  CHECK(results[0].check.wrong > 0);
  CHECK_THAT(results[0].check.first_wrong, ContainsSubstring("rank 0 element"));
}

TEST_CASE("an output that nobody writes is wrong data: it was poisoned") {
  Cell cell = all_reduce(4096, 2);
  auto& op = std::get<CollectiveOp>(cell.schedule.operations[0].what);
  op.count = 512; // the second half of the result is left as it was

  auto results = LocalRun(2).run(cell);

  CHECK(results[1].check.wrong == 512);
  CHECK_THAT(results[1].check.first_wrong, ContainsSubstring("element 512"));
}

TEST_CASE("a P2P matrix's copies go from one rank's buffer to another's") {
  Cell cell;
  cell.label = {"p2p_copy", 1 << 16};
  Schedule& schedule = cell.schedule;
  schedule.streams = {{"copy"}};
  schedule.communicators = {{"world"}};
  PerRank<std::uint64_t> only_first(0), only_second(0);
  only_first.exceptions[0] = 1 << 16;
  only_second.exceptions[1] = 1 << 16;
  schedule.buffers = {{"source", only_first}, {"target", only_second}};
  schedule.operations = {{CopyOp{0, 0, {0}, 1, {1}, 1 << 16}, {0}}};
  schedule.timed = {0, 1};

  auto results = LocalRun(2).run(quick(cell));

  CHECK(results[0].outcome.ok());
  CHECK(results[0].check.kind == CheckResult::Kind::unchecked);
  CHECK_THAT(results[0].check.why_unchecked, ContainsSubstring("says nothing of its results"));
}

TEST_CASE(
    "a DDP step runs: compute, events, two streams, a sub-communicator and the bucket's data") {
  constexpr std::uint64_t count = 4096;
  Cell cell;
  cell.label = {"ddp_step", count * 4};
  Schedule& step = cell.schedule;
  step.streams = {{"compute"}, {"communication", -1}};
  step.communicators = {{"data parallel"}, {"tensor parallel", {1, 0}}};
  step.buffers = {{"bucket", count * 4}, {"activations", 1024}};
  step.operations = {
      {SpinOp{0, 200'000}},
      {CollectiveOp{Collective::all_reduce, 1, 0, {1}, {1}, 256, DataType::f32, ReduceOp::max},
       {0, 1}},
      {RecordEventOp{0, 0}},
      {WaitEventOp{1, 0}},
      {CollectiveOp{Collective::all_reduce, 0, 1, {0}, {0}, count}},
      {MarkerOp{0, "bucket ready"}},
      {SpinOp{0, 200'000}},
      {BarrierOp{0}},
  };
  step.timed = {0, 7};
  step.fills = {{0, {0}, count}};
  step.checks = {{Collective::all_reduce, 0, {0}, count}};

  auto results = LocalRun(4).run(quick(cell));

  for (const worker::CellResult& result : results) {
    CHECK(result.outcome.ok());
    CHECK(result.check.elements == count);
    // The compute stream alone is busy for 2 x 200 us in each of 2 iterations.
    CHECK(result.samples.at(0).elapsed_ns >= 800'000);
  }
}

TEST_CASE("a schedule that would hang or corrupt never starts") {
  Cell cell = all_reduce(4096, 2);
  std::get<CollectiveOp>(cell.schedule.operations[0].what).count = 1025;

  CHECK_THROWS_WITH(LocalRun(2).run(cell), ContainsSubstring("reaches byte 4100"));
}

TEST_CASE("what a backend cannot do is skipped with the reason, and the next cell runs") {
  LocalRun run(2);
  Cell captured = all_reduce(4096, 2);
  captured.schedule.capture = Region{0, 1};
  Cell tuned = all_reduce(4096, 2);
  tuned.settings = {{"algorithm", "Ring"}};

  auto first = run.run(captured);
  auto second = run.run(tuned);

  CHECK(first[0].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(first[0].outcome.reason, ContainsSubstring("cannot capture"));
  CHECK(second[1].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(second[1].outcome.reason, ContainsSubstring("cannot change algorithm"));
  CHECK(run.run(all_reduce(4096, 2))[0].outcome.ok());
}

TEST_CASE("the synthetic backend gives exact times and checks nothing") {
  LocalRun once(backend::make_synthetic_backend(options_for(2)), 2);
  LocalRun again(backend::make_synthetic_backend(options_for(2)), 2);

  auto results = once.run(all_reduce(1 << 20, 2));

  CHECK(results[0].samples == again.run(all_reduce(1 << 20, 2))[0].samples);
  CHECK(results[0].check.kind == CheckResult::Kind::unchecked);
  CHECK_THAT(results[0].check.why_unchecked, ContainsSubstring("synthetic"));
}
