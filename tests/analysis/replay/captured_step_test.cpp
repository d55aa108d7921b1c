// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/made_job.h"
#include "analysis/replay/captured_job.h"
#include "analysis/replay/captured_step.h"
#include "support/catch.h"
#include "workload/replay_shapes.h"
#include "workload/replay_step.h"
#include "workload/schedule_rules.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::model;
using job::k_mib, job::k_ms, job::MadeJob;

namespace {

constexpr int k_planted_steps = 30;

CapturedStep captured(const MadeJob& job) {
  return captured_steps(job, 1);
}

// Computing before each call of a rank, in ms.
std::vector<double> computing_ms(const CapturedStep& step, int rank) {
  std::vector<double> ms;
  for (const CapturedCall& call : step.calls)
    if (call.rank == rank)
      ms.push_back(call.compute_ns / 1e6);
  return ms;
}

std::vector<bool> waited_for(const CapturedStep& step, int rank) {
  std::vector<bool> waited;
  for (const CapturedCall& call : step.calls)
    if (call.rank == rank)
      waited.push_back(call.is_waited_for);
  return waited;
}

double transfer_ms(std::uint64_t bytes) { // of a MadeJob
  return 0.01 + static_cast<double>(bytes / 100) / 1e6;
}

template <typename Op>
std::vector<Op> operations(const Schedule& schedule) {
  std::vector<Op> out;
  for (const Operation& one : schedule.operations)
    if (const auto* op = std::get_if<Op>(&one.what))
      out.push_back(*op);
  return out;
}

// "all_reduce 1048576 f32 on 0-1" of each collective, in order.
std::vector<std::string> collectives(const Schedule& schedule, int world) {
  std::vector<std::string> out;
  for (const auto& op : operations<CollectiveOp>(schedule)) {
    std::string ranks;
    for (int rank : workload::members_of(
             schedule.communicators[static_cast<std::size_t>(op.communicator)], world))
      ranks += std::to_string(rank);
    out.push_back(fmt::format("{} {} {} on {}", to_string(op.collective), op.count,
                              to_string(op.type), ranks));
  }
  return out;
}

std::uint64_t spins_ns(const Schedule& schedule, int rank) {
  std::uint64_t sum = 0;
  for (const Operation& one : schedule.operations)
    if (const auto* spin = std::get_if<SpinOp>(&one.what); spin && names_rank(one.ranks, rank))
      sum += spin->duration_ns;
  return sum;
}

} // namespace

TEST_CASE("computing is what was planted, without the waits for a late rank") {
  MadeJob job(2);
  const int all = job.communicator({0, 1});
  for (int i = 0; i < k_planted_steps; ++i) {
    job.compute(20 * k_ms);
    if (i % 5 == 2)
      job.compute(1, 3 * k_ms);
    job.collective(all, "AllGather", 8 * k_mib);
    job.compute(5 * k_ms);
    job.collective(all, "AllReduce", 64 * k_mib);
    job.compute(2 * k_ms);
    job.collective(all, "AllReduce", 4096);
  }

  const CapturedStep step = captured(job);

  CHECK(step.ranks == std::vector{0, 1});
  CHECK(step.has_device_times);
  for (int rank : step.ranks) {
    CHECK(computing_ms(step, rank) == std::vector{20.0, 5.0, 2.0});
    CHECK(waited_for(step, rank) == std::vector{true, true, true});
  }
  const double transfers_ms = transfer_ms(8 * k_mib) + transfer_ms(64 * k_mib) + transfer_ms(4096);
  CHECK(step.step_ns / 1e6 == Approx(27 + transfers_ms));
  CHECK(step.exposed_ns / 1e6 == Approx(transfers_ms));
  REQUIRE(step.operations.size() == 3);
  CHECK(step.operations[1].collective == Collective::all_reduce);
  CHECK(step.operations[1].bytes() == 64 * k_mib);
  CHECK(step.operations[1].transfer_ns / 1e6 == Approx(transfer_ms(64 * k_mib)));
}

TEST_CASE("what runs beside computing is told from what computing waits for") {
  // Of gradients also without a sign: that is what the communicator is for.
  const bool is_late = GENERATE(true, false);
  MadeJob job(2);
  const int all = job.communicator({0, 1});
  for (int i = 0; i < k_planted_steps; ++i) {
    job.compute(30 * k_ms);
    for (std::uint64_t bytes : {25 * k_mib, 26 * k_mib, 27 * k_mib}) {
      job.compute(4 * k_ms);
      if (is_late && i % 4 == 1)
        job.compute(1, k_ms);
      job.collective_beside(all, "AllReduce", bytes);
    }
    job.wait(all);
  }

  const CapturedStep step = captured(job);

  CHECK(computing_ms(step, 0) == std::vector{34.0, 4.0, 4.0});
  CHECK(waited_for(step, 1) == std::vector{false, false, false});
  CHECK(step.exposed_ns / 1e6 == Approx(transfer_ms(27 * k_mib)));
}

TEST_CASE("an operation that waited for its stream was ready when it was called") {
  MadeJob job(2);
  const int all = job.communicator({0, 1});
  for (int i = 0; i < k_planted_steps; ++i) {
    job.compute(30 * k_ms);
    for (std::uint64_t bytes : {1000 * k_mib, 1001 * k_mib, 1002 * k_mib}) { // 10 ms each
      job.compute(4 * k_ms);
      job.collective_beside(all, "AllReduce", bytes);
    }
    job.wait(all);
  }

  const CapturedStep step = captured(job);

  CHECK(computing_ms(step, 0) == std::vector{34.0, 4.0, 4.0});
  CHECK(step.step_ns / 1e6 == Approx(34 + transfer_ms(1000 * k_mib) + transfer_ms(1001 * k_mib) +
                                     transfer_ms(1002 * k_mib)));
}

TEST_CASE("order, sizes and communicators of the schedule are those of the capture") {
  MadeJob job(4);
  const int world = job.communicator({0, 1, 2, 3});
  const int left = job.communicator({0, 1}), right = job.communicator({2, 3});
  for (int i = 0; i < k_planted_steps; ++i) {
    job.compute(10 * k_ms);
    job.compute(3, k_ms);
    for (int rank : {1, 3}) // late in some steps, which shows that computing waits
      job.compute(rank, i % 4 == 1 ? 2 * k_ms : 0);
    for (int group : {left, right})
      job.collective(group, "ReduceScatter", k_mib);
    job.compute(3 * k_ms);
    for (int group : {right, left})
      job.collective(group, "AllGather", 2 * k_mib);
    job.compute(k_ms);
    job.collective(world, "AllReduce", 4 * k_mib);
  }
  const CapturedStep step = captured(job);

  const Schedule schedule = schedule_of(step, 4);

  CHECK(collectives(schedule, 4) ==
        std::vector<std::string>{"reduce_scatter 262144 f32 on 01", "all_gather 524288 f32 on 01",
                                 "reduce_scatter 262144 f32 on 23", "all_gather 524288 f32 on 23",
                                 "all_reduce 1048576 f32 on 0123"});
  CHECK(spins_ns(schedule, 0) == 14'000'000);
  CHECK(spins_ns(schedule, 3) == 15'000'000);
  for (const SpinOp& spin : operations<SpinOp>(schedule))
    CHECK(spin.is_load);
  CapturedStep small = step;
  small.compute = ReplayCompute::spin;
  for (const SpinOp& spin : operations<SpinOp>(schedule_of(small, 4)))
    CHECK_FALSE(spin.is_load);
  // Each part lacks the other one, and nothing else.
  const Schedule computing = schedule_of(step, 4, StepParts::compute);
  CHECK(operations<CollectiveOp>(computing).empty());
  CHECK(computing.checks.empty());
  CHECK(schedule.checks.size() == 5);
  const Schedule silent = schedule_of(step, 4, StepParts::communication);
  CHECK(operations<SpinOp>(silent).empty());
  CHECK(collectives(silent, 4) == collectives(schedule, 4));
  CHECK(silent.buffers == schedule.buffers);

  SECTION("two of four ranks: communicators shrink, counts stay") {
    const Schedule half = schedule_of(step, 2);
    CHECK(collectives(half, 2) == std::vector<std::string>{"reduce_scatter 262144 f32 on 01",
                                                           "all_gather 524288 f32 on 01",
                                                           "all_reduce 1048576 f32 on 01"});
    CHECK(spins_ns(half, 1) == 14'000'000);
    CHECK(workload::lost_by(step, {0, 1}).size() == 2);
  }
  SECTION("ranks of different groups: their computing stays, what they did in them does not") {
    const Schedule apart = base::value_or_throw(workload::make_replay_step(step, {2, {1, 3}}));
    CHECK(collectives(apart, 2) == std::vector<std::string>{"all_reduce 1048576 f32 on 01"});
    CHECK(spins_ns(apart, 0) == 14'000'000);
    CHECK(spins_ns(apart, 1) == 15'000'000);
  }
  SECTION("its collectives alone, for a tuner table") {
    using workload::ReplayedShape;
    CapturedStep replayed = step;
    replayed.replayed = {0, 1, 2, 3};
    const ReplayedShape reduced{Collective::all_reduce, 1 << 20, DataType::f32, 1};
    CHECK(workload::replayed_shapes(replayed) ==
          std::vector<ReplayedShape>{{Collective::all_gather, 1 << 19, DataType::f32, 2},
                                     reduced,
                                     {Collective::reduce_scatter, 1 << 18, DataType::f32, 2}});
    replayed.replayed = {1, 3};
    CHECK(workload::replayed_shapes(replayed) == std::vector{reduced});
    CHECK(workload::groups_without_shape(replayed).empty());
    for (model::CapturedCommunicator& one : replayed.communicators)
      if (one.ranks == std::vector{0, 1})
        one.ranks = {0, 2}; // every second rank
    replayed.replayed = {0, 1, 2, 3};
    CHECK(workload::groups_without_shape(replayed) == std::vector<std::vector<int>>{{0, 2}});
  }
  SECTION("ranks behind the replayed ones do nothing") {
    const Schedule wide = base::value_or_throw(workload::make_replay_step(step, {6, {0, 1, 2, 3}}));
    for (const Operation& one : wide.operations)
      CHECK((std::holds_alternative<CollectiveOp>(one.what) || !names_rank(one.ranks, 5)));
    CHECK(collectives(wide, 6) == collectives(schedule, 4));
  }
}

TEST_CASE("messages keep their ends; to a missing rank they are refused, except between experts") {
  MadeJob pipeline(4);
  const int stages = pipeline.communicator({0, 1, 2, 3});
  MadeJob experts(4);
  const int exchange = experts.communicator({0, 1, 2, 3});
  for (int i = 0; i < k_planted_steps; ++i) {
    for (int stage = 0; stage < 3; ++stage) {
      pipeline.compute(stage, 5 * k_ms);
      pipeline.message(stages, stage, stage + 1, 16 * k_mib);
    }
    experts.compute(5 * k_ms);
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        if (from != to)
          experts.message(exchange, from, to, k_mib);
  }
  const CapturedStep stage_step = captured(pipeline);
  const CapturedStep expert_step = captured(experts);
  CHECK(stage_step.communicators.front().role == "pipeline");
  CHECK(expert_step.communicators.front().role == "expert");

  const auto sends = operations<SendOp>(schedule_of(stage_step, 4));
  REQUIRE(sends.size() == 3);
  for (int stage = 0; stage < 3; ++stage) {
    CHECK(sends[static_cast<std::size_t>(stage)].to == Peer{Peer::Kind::absolute, stage + 1});
    CHECK(sends[static_cast<std::size_t>(stage)].count.common == 4 * k_mib);
  }
  const auto refused = workload::make_replay_step(stage_step, {2, {0, 1}});
  REQUIRE(!refused);
  CHECK(refused.error().code == base::Errc::unsupported);
  CHECK_THAT(refused.error().text(), ContainsSubstring("from rank 1 to rank 2"));

  CHECK(operations<SendOp>(schedule_of(expert_step, 4)).size() == 12);
  CHECK(operations<SendOp>(schedule_of(expert_step, 2)).size() == 2);
}

TEST_CASE("messages that overlap on a rank are a group") {
  MadeJob job(2);
  const int pair = job.communicator({0, 1});
  for (int i = 0; i < k_planted_steps; ++i) {
    job.compute(5 * k_ms);
    job.message(pair, 0, 1, k_mib);
    job.message(pair, 1, 0, k_mib);
  }
  const bool overlap = GENERATE(true, false);
  auto source = job.source();
  source.load = [load = source.load, overlap](int rank, timeline::Pass pass) {
    auto trace = base::value_or_throw(load(rank, pass));
    for (std::size_t i = 1; overlap && i < trace.nccl_channels.size(); i += 2)
      trace.nccl_channels[i].start_gt = trace.nccl_channels[i - 1].start_gt;
    return base::Result<timeline::RankTrace>(std::move(trace));
  };
  const auto found = base::value_or_throw(job::find_steps(source));
  const CapturedStep step =
      base::value_or_throw(replay::captured_step(source, found, {"job", std::nullopt, 1}));

  const Schedule schedule = schedule_of(step, 2);

  CHECK(operations<GroupBeginOp>(schedule).size() == (overlap ? 2 : 0));
  CHECK(operations<SendOp>(schedule).size() == 2);
  CHECK(operations<RecvOp>(schedule).size() == 2);
  // A single send runs beside computing.
  CHECK(spins_ns(schedule, 1) == 5'000'000);
}

TEST_CASE("kernels tell what is computed before operations that wait for each other") {
  const bool has_kernels = GENERATE(true, false);
  MadeJob job(2);
  const int all = job.communicator({0, 1});
  std::int64_t begun_ns = k_ms;
  for (int i = 0; i < k_planted_steps; ++i) {
    // Three reductions of 10 ms follow each other. The GPU computes 9, 4 and 4 ms before them. The
    // host launches that in 9, 1 and 1 ms.
    std::int64_t begin_ns = begun_ns + 9 * k_ms;
    for (int operation : {0, 1, 2}) {
      const std::int64_t called_ns = begun_ns + (9 + operation) * k_ms;
      job.collective(all, "AllReduce", static_cast<std::uint64_t>(32 + operation) * k_mib,
                     {{called_ns, begin_ns, begin_ns + 10 * k_ms},
                      {called_ns, begin_ns, begin_ns + 10 * k_ms}});
      begin_ns += 10 * k_ms + (i % 2 == 0 ? 10'000 : 55'000); // pauses on a busy GPU
    }
    const std::int64_t end_ns = begin_ns - (i % 2 == 0 ? 10'000 : 55'000);
    for (int rank : {0, 1})
      if (has_kernels && i >= 10 && i < 15) {
        job.computing_kernel(rank, begun_ns, begun_ns + 17 * k_ms);
        job.kernels_recorded(rank, begun_ns, end_ns);
      }
    begun_ns = end_ns;
  }

  const CapturedStep step = captured(job);

  CHECK(waited_for(step, 0) == std::vector{false, false, false});
  const std::vector<double> computing = computing_ms(step, 0);
  CHECK(computing[0] == Approx(9));
  for (std::size_t i : {1, 2}) // otherwise, only the host's calls are known
    CHECK(computing[i] == Approx(has_kernels ? 4 : 1));
  CHECK(step.exposed_ns / 1e6 == Approx(has_kernels ? 22 : 28).epsilon(0.01));
}

TEST_CASE("a host launches what is computed before a call, also if the call is left out") {
  CapturedStep step;
  step.ranks = {0, 1, 2};
  step.communicators = {{"", "data", 2, {0, 1}}, {"", "data", 2, {0, 2}}};
  for (int communicator : {0, 1, 0})
    step.operations.push_back({.communicator = communicator, .count = 1024});
  auto call = [&](int rank, int operation, double host_ms) {
    step.calls.push_back({.rank = rank,
                          .operation = operation,
                          .compute_ns = 1e6,
                          .host_ns = host_ms * 1e6,
                          .host_waits = host_ms == 7});
  };
  call(0, 0, 5);
  call(0, 1, 7);
  call(0, 2, 2);
  call(1, 0, 0);
  call(1, 2, 0);
  call(2, 1, 0);
  auto host_ms = [](const Schedule& schedule, int rank) {
    double ms = 0;
    for (const Operation& one : schedule.operations)
      if (const auto* spin = std::get_if<SpinOp>(&one.what)) {
        CHECK(spin->is_load != spin->is_host); // a host computes nothing
        ms += spin->is_host && names_rank(one.ranks, rank)
                  ? static_cast<double>(spin->duration_ns) / 1e6
                  : 0;
      }
    return ms;
  };

  const Schedule all = schedule_of(step, 3), fewer = schedule_of(step, 2);

  CHECK(host_ms(all, 0) == Approx(14));
  CHECK(host_ms(all, 1) == 0); // its host is never late
  CHECK(host_ms(fewer, 0) == Approx(14));
  CHECK(spins_ns(fewer, 0) == 17'000'000); // with the GPU's 1 ms before each call
  CHECK(host_ms(schedule_of(step, 2, StepParts::compute), 0) == Approx(14));
  CHECK(host_ms(schedule_of(step, 2, StepParts::communication), 0) == 0);
}

TEST_CASE("a capture without enough equal steps is refused") {
  MadeJob job(2);
  const int all = job.communicator({0, 1});
  for (int i = 0; i < 5; ++i) {
    job.compute(20 * k_ms);
    job.collective(all, "AllReduce", 8 * k_mib);
    job.collective(all, "AllGather", 8 * k_mib);
  }
  const auto source = job.source();
  auto found = base::value_or_throw(job::find_steps(source));

  CHECK(replay::captured_step(source, found, {"job", 7}).error().code ==
        base::Errc::invalid_argument);
  found.batches = {{0, 2, 0}};
  CHECK(replay::captured_step(source, found, {"job", {}}).error().code == base::Errc::not_found);
  found.kinds.clear();
  CHECK(replay::captured_step(source, found, {"job", {}}).error().code == base::Errc::not_found);
  const CapturedStep step = captured(job);
  CHECK(workload::ranks_to_replay(step, 8, {}).value() == std::vector{0, 1});
  CHECK(workload::ranks_to_replay(step, 1, {}).value() == std::vector{0});
  CHECK(workload::ranks_to_replay(step, 2, std::vector{2}).error().code ==
        base::Errc::invalid_argument);
}
