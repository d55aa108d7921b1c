// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The runner on the CPU backend, all ranks in this process: everything that the schedules of
// trial_test.cpp need must really run.
#include "backend/synthetic/synthetic_backend.h"
#include "launch/worker/local_run.h"
#include "support/catch.h"
#include "workload/collective_benchmark.h"

using namespace ncclprobe;
using namespace ncclprobe::model;
using support::LocalRun;
using support::options_for;

namespace {

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

// Accepts every setting, and only says after an operation whether it could follow it.
class Unfollowed : public backend::Backend {
public:
  explicit Unfollowed(std::unique_ptr<backend::Backend> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return inner_->name(); }
  bool moves_data() const override { return inner_->moves_data(); }
  std::unique_ptr<backend::Device> open_device(int index) override {
    return inner_->open_device(index);
  }
  std::vector<std::unique_ptr<backend::Communicator>>
  connect(const std::string& key, const std::vector<int>& ranks,
          std::span<const backend::Member> local, backend::Rendezvous& rendezvous) override {
    return inner_->connect(key, ranks, local, rendezvous);
  }
  void apply(const std::vector<Setting>& settings) override { settings_ = settings; }
  std::string why_not_applied() const override {
    return settings_.empty() || settings_[0].value == "Ring" ? "" : "no " + settings_[0].value;
  }
  void group_begin() override { inner_->group_begin(); }
  void group_end() override { inner_->group_end(); }
  double max_over_ranks(std::span<backend::Communicator* const> local, double value) override {
    return inner_->max_over_ranks(local, value);
  }
  std::int64_t now_ns() override { return inner_->now_ns(); }

private:
  std::unique_ptr<backend::Backend> inner_;
  std::vector<Setting> settings_;
};

} // namespace

TEST_CASE("every rank delivers a sample per batch and checked data") {
  LocalRun run(3);

  auto results = run.run(all_reduce(4096, 3));

  REQUIRE(results.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const model::CellRecord& result = results[static_cast<std::size_t>(rank)];
    CHECK(result.outcome.ok());
    CHECK(result.check.checked);
    CHECK(result.check.launches == 3);
    CHECK(result.check.elements == 3 * 1024);
    CHECK(result.check.method == "last launch of every batch");
    REQUIRE(result.samples.size() == 3);
    CHECK(result.samples[2].rank == rank);
    CHECK(result.samples[2].batch == 2);
    CHECK(result.samples[2].iterations == 2);
    CHECK(result.samples[2].elapsed_ns > 0);
    CHECK(result.samples[2].launch_ns > 0);
    CHECK(result.samples[2].launch_ns <= result.samples[2].elapsed_ns);
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
  cell.label = {P2pLabel{}, 1 << 16};
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
  CHECK_FALSE(results[0].check.checked);
  CHECK_THAT(results[0].check.why_unchecked, ContainsSubstring("does not describe its results"));
}

TEST_CASE(
    "a DDP step runs: compute, events, two streams, a sub-communicator and the bucket's data") {
  constexpr std::uint64_t count = 4096;
  Cell cell;
  cell.label = {StepLabel{}, count * 4};
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

  for (const model::CellRecord& result : results) {
    CHECK(result.outcome.ok());
    CHECK(result.check.elements == 3 * count);
    CHECK_THAT(result.check.method, ContainsSubstring("separate launch")); // in place
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
  tuned.settings = {{"channels", "4"}};

  auto first = run.run(captured);
  auto second = run.run(tuned);

  CHECK(first[0].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(first[0].outcome.reason, ContainsSubstring("cannot capture"));
  CHECK(second[1].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(second[1].outcome.reason, ContainsSubstring("cannot change channels"));
  CHECK(run.run(all_reduce(4096, 2))[0].outcome.ok());
}

TEST_CASE("a cell's settings act on this cell only") {
  backend::Options options = options_for(2);
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  LocalRun run(backend::make_synthetic_backend(options), 2);
  Cell plain = all_reduce(4096, 2), slow = plain, broken = plain;
  slow.settings = {{"alpha_ns", "50000"}};
  broken.settings = {{"fail", "unsupported"}};
  auto time_ns = [&](const Cell& cell) { return run.run(cell)[0].samples.at(0).elapsed_ns; };

  auto first_ns = time_ns(plain);
  auto slow_ns = time_ns(slow);
  auto again_ns = time_ns(plain);

  CHECK(slow_ns - first_ns == 2 * 2 * 45'000); // 2 launches of 2 steps, each 45 us longer
  CHECK(again_ns == first_ns);
  CHECK_THROWS_WITH(run.run(broken), ContainsSubstring("planted refusal"));
  CHECK(time_ns(plain) == first_ns);
}

TEST_CASE("a cell whose settings the library did not follow is skipped, not measured") {
  LocalRun run(std::make_unique<Unfollowed>(backend::make_synthetic_backend(options_for(2))), 2);
  Cell tree = all_reduce(4096, 2), ring = tree;
  tree.settings = {{"algorithm", "Tree"}};
  ring.settings = {{"algorithm", "Ring"}};

  auto skipped = run.run(tree);

  CHECK(skipped[0].outcome.kind == OutcomeKind::skipped);
  CHECK(skipped[0].outcome.reason == "no Tree");
  CHECK(skipped[0].samples.empty());
  CHECK(run.run(ring)[1].outcome.ok());
}

TEST_CASE("cells with settings have checked data too") {
  LocalRun run(2);
  for (const Setting& setting : {Setting{"algorithm", "ring"}, Setting{"chunk_bytes", "1K"}}) {
    Cell cell = all_reduce(65536, 2);
    cell.settings = {setting};
    auto results = run.run(cell);
    CHECK(results[0].outcome.ok());
    CHECK(results[1].check.checked);
  }
}

TEST_CASE("in latency mode every launch is a sample of its own, and is checked") {
  Cell cell = all_reduce(4096, 3);
  cell.timing.mode = TimingMode::latency;

  auto results = LocalRun(3).run(cell);

  REQUIRE(results.size() == 3);
  for (const model::CellRecord& result : results) {
    CHECK(result.outcome.ok());
    CHECK(result.check.method == "every launch");
    CHECK(result.check.launches == 6);
    REQUIRE(result.samples.size() == 6); // 3 batches of 2
    for (int launch = 0; launch < 6; ++launch) {
      const Sample& sample = result.samples[static_cast<std::size_t>(launch)];
      CHECK(sample.batch == launch);
      CHECK(sample.iterations == 1);
      CHECK(sample.elapsed_ns > 0);
      CHECK(sample.launch_ns > 0); // apart from the timed part: streams are held meanwhile
    }
  }
}

TEST_CASE("a launch on two streams lasts from the first one's start to the last one's end") {
  Cell cell;
  Schedule& schedule = cell.schedule;
  schedule.streams = {{"long"}, {"short"}, {"not used"}};
  schedule.operations = {{SpinOp{0, 3'000'000}}, {SpinOp{1, 1'000'000}}};
  schedule.timed = {0, 2};
  cell.timing = {0, 2, 1, 0};
  cell.timing.mode = TimingMode::latency;

  auto results = LocalRun(backend::make_synthetic_backend(options_for(1)), 1).run(cell);

  REQUIRE(results[0].samples.size() == 2);
  CHECK(results[0].samples[0].elapsed_ns == 3'000'000);
  CHECK(results[0].samples[1].elapsed_ns == 3'000'000);
  CHECK(results[0].samples[1].launch_ns == 0); // in the model, asking takes no time
}

TEST_CASE("a cell goes on until its median is known well enough, on all ranks alike") {
  Cell cell = all_reduce(1 << 20, 2);
  cell.timing.target_interval = 0.1; // far more than the synthetic backend's noise
  Cell hopeless = cell;
  hopeless.timing.target_interval = 1e-9;
  hopeless.timing.max_batches = 20;
  auto run = [](const Cell& one) {
    return LocalRun(backend::make_synthetic_backend(options_for(2)), 2).run(one);
  };

  auto easy = run(cell);
  auto hard = run(hopeless);

  CHECK(easy[0].samples.size() == 6); // fewer values give no interval of the median
  CHECK(hard[0].samples.size() == 20);
  CHECK(hard[1].samples.size() == 20);
}

TEST_CASE("memory that must be registered is skipped where nothing registers it") {
  Cell cell = all_reduce(4096, 2);
  cell.schedule.buffers[1].memory = Memory::registered;

  auto results = LocalRun(2).run(cell);

  CHECK(results[0].outcome.kind == OutcomeKind::skipped);
  CHECK_THAT(results[0].outcome.reason, ContainsSubstring("registered with communicators"));
}

TEST_CASE("the synthetic backend gives exact times and checks nothing") {
  LocalRun once(backend::make_synthetic_backend(options_for(2)), 2);
  LocalRun again(backend::make_synthetic_backend(options_for(2)), 2);

  auto results = once.run(all_reduce(1 << 20, 2));

  CHECK(results[0].samples == again.run(all_reduce(1 << 20, 2))[0].samples);
  CHECK_FALSE(results[0].check.checked);
  CHECK_THAT(results[0].check.why_unchecked, ContainsSubstring("synthetic"));
}

TEST_CASE("every collective runs at odd counts, off alignment, split and on several streams") {
  for (int ranks : {1, 3, 4}) {
    LocalRun run(ranks);
    for (const auto& [collective, name] : enum_names(Collective{}))
      for (const auto& [split, streams] : {std::pair(1, 2), std::pair(2, 1), std::pair(2, 2)})
        for (std::uint64_t count : {0, 1, 1023}) {
          workload::CollectiveRequest request;
          request.collective = collective;
          request.ranks = ranks;
          request.count = count;
          request.split = split;
          request.streams = streams;
          request.offset = count % 2;
          auto cell = workload::make_collective_cell(request, {});
          if (!cell)
            continue; // what cannot be is tested where cells are made
          cell->timing = {1, 1, 1, 0};

          auto results = run.run(*cell);

          std::uint64_t elements = 0;
          for (const model::CellRecord& result : results) {
            INFO(name << " on " << ranks << " " << cell->label.variant() << " count " << count
                      << ": " << result.outcome.reason);
            REQUIRE(result.outcome.ok());
            elements += result.check.elements;
          }
          CHECK((elements > 0) == (cell->label.bytes > 0));
        }
  }
}

TEST_CASE("data that strays from one communicator to another is seen") {
  workload::CollectiveRequest request;
  request.bytes = 4096;
  request.ranks = 2;
  request.streams = 2;
  Cell cell = quick(workload::make_collective_cell(request, {}).value());
  CHECK(LocalRun(2).run(cell)[0].outcome.ok());
  auto& operations = cell.schedule.operations;
  auto& second = std::get<CollectiveOp>(operations[1].what);
  second.send = std::get<CollectiveOp>(operations[0].what).send;

  CHECK(LocalRun(2).run(cell)[0].outcome.kind == OutcomeKind::wrong_data);
}
