// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/found_job.h"
#include "analysis/job/simulated_job.h"
#include "analysis/job/what_if.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::job;

namespace {

// Two pairs of tensor-parallel ranks (communicators 0 and 1), and two of data-parallel ones (2 and
// 3): gradients are sent while the rest of the backward pass computes.
SimulatedJob two_by_two(unsigned seed, const Disturbances& disturbances) {
  SimulatedJob job(4, seed, disturbances);
  const std::vector<int> tensor{job.communicator({0, 1}), job.communicator({2, 3})};
  const std::vector<int> data{job.communicator({0, 2}), job.communicator({1, 3})};
  using enum SimulatedJob::Computing;
  for (int step = 0; step < k_simulated_steps; ++step) {
    job.begin_step(step);
    job.compute_disturbed(3 * k_ms);
    for (int layer = 0; layer < 17; ++layer) {
      job.compute(k_ms / 2);
      for (int group : tensor)
        job.collective(group, "AllReduce", 8 * k_mib, waits);
    }
    for (int bucket = 0; bucket < 3; ++bucket) {
      job.compute(2 * k_ms);
      for (int group : data)
        job.collective(group, "AllReduce", bucket == 2 ? 20 * k_mib : 50 * k_mib, goes_on);
    }
    job.end_step();
  }
  return job;
}

Found found_of(const SimulatedJob& job) {
  return found_of(job.made());
}

enum class Planted : std::uint8_t { kernel, copy, idle_gpu, transfer };
enum class Recorded : std::uint8_t { never, always, in_some_steps };

// Two data-parallel ranks. In every fifth step something takes 3 ms more, on rank 1 or of the
// transfer. Hosts always hand operations over just before they begin.
MadeJob planted(Planted what, Recorded recorded) {
  MadeJob job(2);
  const int data = job.communicator({0, 1});
  std::mt19937_64 random(1);
  for (int step = 0; step < k_simulated_steps; ++step) {
    const bool is_planted = step % 5 == 4;
    const std::int64_t longer_ns = is_planted ? 3 * k_ms : 0;
    for (int rank = 0; rank < 2; ++rank) {
      const std::int64_t from_ns = job.now_ns(rank);
      const std::int64_t usual_ns = 5 * k_ms + noise_ns(random, 10'000);
      const std::int64_t own_ns = rank == 1 && what != Planted::transfer ? longer_ns : 0;
      const std::int64_t to_ns = from_ns + usual_ns;
      job.compute(rank, usual_ns + own_ns);
      if (recorded == Recorded::never ||
          (recorded == Recorded::in_some_steps && (step < 12 || step > 17)))
        continue;
      job.kernels_recorded(rank, from_ns - 1000, job.now_ns(rank) + 1000);
      job.computing_kernel(rank, from_ns, to_ns);
      if (own_ns > 0 && what == Planted::kernel)
        job.computing_kernel(rank, to_ns, to_ns + own_ns);
      if (own_ns > 0 && what == Planted::copy)
        job.copy(rank, to_ns, to_ns + own_ns);
    }
    if (what == Planted::transfer && is_planted) {
      std::vector<MadeJob::Part> parts;
      const std::int64_t end_ns = std::max(job.now_ns(0), job.now_ns(1)) + 3 * k_ms + 534'288;
      for (int rank = 0; rank < 2; ++rank)
        parts.push_back({job.now_ns(rank) - 3000, job.now_ns(rank), end_ns});
      job.collective(data, "AllReduce", 50 * k_mib, parts);
    } else {
      job.collective(data, "AllReduce", 50 * k_mib);
    }
  }
  return job;
}

enum class Late : std::uint8_t { loading, logging };
struct Shown {
  bool ranges = false, kernels = false;
};

// Two data-parallel ranks. Each step loads its input, copies it to the GPU, computes, and sends
// gradients; then the host writes a log. In every fifth step one of these takes 3 ms more on rank
// 1.
MadeJob late_loader(Late what, Shown by) {
  MadeJob job(2);
  const int data = job.communicator({0, 1});
  std::mt19937_64 random(1);
  for (int step = 0; step < k_simulated_steps; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      const std::int64_t longer_ns = rank == 1 && step % 5 == 4 ? 3 * k_ms : 0;
      const std::int64_t from_ns = job.now_ns(rank);
      const std::int64_t load_ns = from_ns + k_ms / 2 + (what == Late::loading ? longer_ns : 0);
      const std::int64_t copied_ns = load_ns + k_ms / 10;
      const std::int64_t computed_ns = copied_ns + 5 * k_ms + noise_ns(random, 10'000);
      const std::int64_t logged_ns = computed_ns + (what == Late::logging ? longer_ns : 0);
      job.compute(rank, logged_ns - from_ns);
      if (by.ranges) {
        job.range(rank, "load batch", from_ns, load_ns);
        job.range(rank, "forward", load_ns, computed_ns);
        job.range(rank, "log", computed_ns, logged_ns);
      }
      if (!by.kernels)
        continue;
      job.kernels_recorded(rank, from_ns - 1000, logged_ns + 1000);
      job.computing_kernel(rank, from_ns, from_ns + 1000); // of the optimizer
      job.copy(rank, load_ns, copied_ns, trace::CopyKind::host_to_device);
      job.computing_kernel(rank, copied_ns, computed_ns);
    }
    job.collective(data, "AllReduce", 50 * k_mib);
  }
  return job;
}

// Per step, on the critical path.
double path_ns(const Found& it, DelayCause cause) {
  double sum = 0;
  for (const PathShare& part : it.held_up.path)
    if (part.cause == cause)
      sum += part.time.mean_ns;
  return sum;
}

Disturbances slow_computing() {
  return {
      .computing_ns = [](int rank, int step) { return rank == 3 && step % 5 == 4 ? 3 * k_ms : 0; }};
}
Disturbances late_host() {
  return {.host_ns = [](int rank, int step) { return rank == 1 && step % 4 == 2 ? 9 * k_ms : 0; }};
}
Disturbances slow_link() {
  return {.slower = [](int communicator, int step) {
    return communicator == 1 && step >= 10 && step < 30 ? 4.0 : 1.0;
  }};
}
Disturbances slow_transfers() {
  return {.slower = [](int communicator, int step) {
    return communicator < 2 && step >= 15 && step < 35 ? 3.0 : 1.0;
  }};
}

} // namespace

TEST_CASE("What holds a job up is named: the rank or the communicator, and why") {
  struct Case {
    Disturbances what;
    DelayOrigin origin;
  };
  const std::vector<Case> cases{{slow_computing(), {DelayCause::computing, 3, -1}},
                                {late_host(), {DelayCause::host, 1, -1}},
                                {slow_link(), {DelayCause::slow_link, -1, 1}},
                                {slow_transfers(), {DelayCause::slow_transfers, -1, 0}}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const SimulatedJob job = two_by_two(1, cases[i].what);
    const Found it = found_of(job);
    CHECK(worst(it).origin.cause == cases[i].origin.cause);
    CHECK(worst(it).origin.rank == cases[i].origin.rank);
    if (cases[i].origin.cause != DelayCause::slow_transfers) // both groups are slow
      CHECK(worst(it).origin.communicator == cases[i].origin.communicator);
    double path_ns = 0;
    for (const PathShare& part : it.held_up.path)
      path_ns += part.time.mean_ns;
    CHECK(path_ns == Approx(job.step_ns()).epsilon(0.03));
  }
}

TEST_CASE("What holds up a pipeline is named: the stage that sends late, or its link") {
  const Found late = found_of(pipelines(5 * k_ms, 0));
  CHECK(worst(late).origin == DelayOrigin{DelayCause::host, 0, -1}); // handed over when it begins
  CHECK(worst(late).steps == 10);
  const Found slow = found_of(pipelines(0, 5 * k_ms));
  CHECK(worst(slow).origin == DelayOrigin{DelayCause::slow_link, -1, 0});
  CHECK(worst(slow).steps == 10);
}

TEST_CASE("Kernels and copies tell what held a rank up; without them its launches do") {
  struct Case {
    Planted what;
    Recorded recorded;
    DelayOrigin origin;
    CauseSeenBy seen_by;
  };
  using enum Planted;
  using enum Recorded;
  const DelayOrigin computing{DelayCause::computing, 1, -1}, copies{DelayCause::copies, 1, -1},
      host{DelayCause::host, 1, -1}, transfer_of_both{DelayCause::transfer, -1, 0};
  const std::vector<Case> cases{{kernel, always, computing, CauseSeenBy::kernels},
                                {copy, always, copies, CauseSeenBy::kernels},
                                {idle_gpu, always, host, CauseSeenBy::kernels},
                                {Planted::transfer, always, transfer_of_both, CauseSeenBy::times},
                                {kernel, in_some_steps, computing, CauseSeenBy::other_steps},
                                {copy, in_some_steps, copies, CauseSeenBy::other_steps},
                                {idle_gpu, in_some_steps, host, CauseSeenBy::other_steps},
                                {kernel, never, host, CauseSeenBy::launches},
                                {copy, never, host, CauseSeenBy::launches},
                                {idle_gpu, never, host, CauseSeenBy::launches}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Case& one = cases[i];
    const Found it = found_of(planted(one.what, one.recorded));
    CHECK(it.held_up.kernels_recorded == (one.recorded != never));
    CHECK(worst(it).origin.cause == one.origin.cause);
    CHECK(worst(it).origin == one.origin);
    CHECK(worst(it).seen_by == one.seen_by);
    CHECK(worst(it).steps == 10);
    CHECK(worst(it).excess.mean_ns == Approx(0.6 * k_ms).epsilon(0.1)); // 3 ms, every fifth step
    CHECK(path_ns(it, one.origin.cause) > 0.55 * k_ms);
    if (one.recorded != never) { // kernels fill the rest of the time
      CHECK(path_ns(it, DelayCause::computing) > 4.9 * k_ms);
      if (one.origin.cause != DelayCause::host)
        CHECK(path_ns(it, DelayCause::host) < 0.05 * k_ms);
    }
    if (one.what == Planted::transfer)
      continue;
    REQUIRE(!it.held_up.late.empty());
    const LateRank& late = it.held_up.late.front();
    CHECK(late.rank == 1);
    CHECK(late.causes.front().origin == one.origin);
    CHECK(late.causes.front().seen_by == one.seen_by);
    CHECK(late.causes.front().delay_ns > 0.9 * late.delay.mean_ns);
  }
}

TEST_CASE("A host that waited for its input is told from one that was late for another reason") {
  using enum Late;
  const DelayOrigin host{DelayCause::host, 1, -1}, input{DelayCause::input, 1, -1};
  struct Case {
    Late what;
    Shown by;
    DelayOrigin origin;
    CauseSeenBy seen_by;
    const char* phase; // null: none
  };
  using enum CauseSeenBy;
  const std::vector<Case> cases{{loading, {.ranges = true}, input, ranges, "load batch"},
                                {logging, {.ranges = true}, host, launches, "log"},
                                {loading, {}, host, launches, nullptr},
                                {loading, {.kernels = true}, input, kernels, nullptr},
                                {logging, {.kernels = true}, host, kernels, nullptr},
                                {loading, {true, true}, input, kernels, "load batch"},
                                {logging, {true, true}, host, kernels, "log"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Case& one = cases[i];
    const Found it = found_of(late_loader(one.what, one.by));
    CHECK(worst(it).origin.cause == one.origin.cause);
    CHECK(worst(it).origin.rank == 1);
    CHECK(worst(it).seen_by == one.seen_by);
    CHECK(worst(it).steps == 10);
    CHECK(path_ns(it, one.origin.cause) > 0.55 * k_ms); // 3 ms in every fifth step
    REQUIRE(!it.held_up.late.empty());
    CHECK(it.held_up.late.front().causes.front().origin.cause == one.origin.cause);
    for (const int phase : {worst(it).phase, it.held_up.late.front().causes.front().phase})
      CHECK((phase < 0 ? "none" : it.held_up.phases[static_cast<std::size_t>(phase)].back().name) ==
            (one.phase == nullptr ? "none" : one.phase));
  }
}

TEST_CASE("Steps without waits for input are predicted where the capture shows these waits") {
  auto gain = [](Late what, Shown by) {
    const Found it = found_of(late_loader(what, by));
    const auto all = predict(it.graph, it.model, check_model(it.graph, it.model),
                             base::value_or_throw(parse_what_if("input=none")), it.texts);
    return all ? all->at(0).gain.mean_ns : -1;
  };

  for (const Shown by : {Shown{.ranges = true}, Shown{.kernels = true}}) {
    CAPTURE(by.kernels);
    // All ranks load for 0.5 ms in each step, too.
    CHECK(gain(Late::loading, by) == Approx((0.6 + 0.5) * k_ms).epsilon(0.1));
    CHECK(gain(Late::logging, by) == Approx(0.5 * k_ms).epsilon(0.1));
  }
  CHECK(gain(Late::loading, {}) == -1); // nothing shows when it loads
}

TEST_CASE("A delay is put down to the rank that starts it, not to the one that passes it on") {
  const Found it = found_of(two_by_two(1, slow_computing()));
  // Rank 3 delays rank 2 in their tensor group; rank 2 then delays rank 0 in their data group.
  const auto passes_on = std::ranges::find_if(
      it.held_up.late, [](const LateRank& one) { return one.communicator == 2 && one.rank == 2; });
  REQUIRE(passes_on != it.held_up.late.end());
  CHECK(passes_on->meetings == 49 * 3);
  CHECK(passes_on->causes.front().origin == DelayOrigin{DelayCause::computing, 3, -1});
  const auto starts = std::ranges::find_if(
      it.held_up.late, [](const LateRank& one) { return one.communicator == 1 && one.rank == 3; });
  REQUIRE(starts != it.held_up.late.end());
  CHECK(starts->causes.front().origin == DelayOrigin{DelayCause::computing, 3, -1});
  REQUIRE(starts->gain);
  CHECK(starts->gain->mean_ns == Approx(0.6 * k_ms).epsilon(0.2)); // 3 ms in every fifth step
}

TEST_CASE("The capture decides what computing waits for") {
  const Found it = found_of(two_by_two(3, slow_computing()));
  REQUIRE(it.graph.classes.size() == 2);
  for (std::size_t group = 0; group < 2; ++group)
    CHECK(it.model.waited[group] == (it.graph.classes[group].role == Role::tensor
                                         ? WaitedFor::at_once
                                         : WaitedFor::at_end_of_step));
}

TEST_CASE("Without a change, a replay gives the times that were seen") {
  CHECK(error_of_replay(found_of(two_by_two(4, late_host()))) < 1e-4);
}

TEST_CASE("Predicted gains are within 20% of the simulated ones, and in their interval") {
  struct Case {
    Disturbances what;
    const char* change;
  };
  const Disturbances always{.slower = [](int, int) { return 1.25; }};
  const std::vector<Case> cases{{slow_computing(), "rank:3=median"},
                                {late_host(), "host=none"},
                                {slow_link(), "transfers=median"},
                                {always, "all_reduce=-20%"}};
  int within = 0, covered = 0, all = 0;
  for (const Case& one : cases)
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const SimulatedJob job = two_by_two(seed, one.what);
      const double gain_ns = job.step_ns() - two_by_two(seed, {}).step_ns();
      const Found it = found_of(job);
      const auto predicted =
          base::value_or_throw(predict(it.graph, it.model, check_model(it.graph, it.model),
                                       base::value_or_throw(parse_what_if(one.change)), it.texts));
      REQUIRE(predicted.size() == 1);
      const PerStep& gain = predicted[0].gain;
      REQUIRE(gain.interval);
      UNSCOPED_INFO(one.change << ", seed " << seed << ": " << gain_ns << " ns, predicted "
                               << gain.mean_ns << " [" << gain.interval->low << ", "
                               << gain.interval->high << "]");
      ++all;
      within += std::abs(gain.mean_ns - gain_ns) <= 0.2 * gain_ns;
      covered += gain.interval->low <= gain_ns && gain_ns <= gain.interval->high;
    }
  CHECK(all == 20);
  CHECK(within >= 17);
  CHECK(covered >= 17);
}

TEST_CASE("Larger buckets are predicted from the sizes that were seen") {
  auto job = [](const std::vector<std::uint64_t>& buckets) {
    SimulatedJob out(4, 1, {});
    const int world = out.communicator({0, 1, 2, 3});
    for (int step = 0; step < k_simulated_steps; ++step) {
      out.begin_step(step);
      out.compute(8 * k_ms);
      for (std::uint64_t bytes : buckets) {
        out.compute(static_cast<std::int64_t>(bytes / 25)); // transfers take a quarter of it
        out.collective(world, "AllReduce", bytes, SimulatedJob::Computing::goes_on);
      }
      out.end_step();
    }
    return out;
  };
  const SimulatedJob small = job({40 * k_mib, 40 * k_mib, 40 * k_mib, 30 * k_mib});
  const SimulatedJob large = job({80 * k_mib, 70 * k_mib});
  const Found it = found_of(small);
  const auto predicted =
      base::value_or_throw(predict(it.graph, it.model, check_model(it.graph, it.model),
                                   base::value_or_throw(parse_what_if("bucket=80M")), it.texts));
  const double gain_ns = small.step_ns() - large.step_ns();
  CHECK(predicted.at(0).gain.mean_ns == Approx(gain_ns).epsilon(0.2));
}

TEST_CASE("Steps that were not fitted check the model") {
  const Found it = found_of(two_by_two(2, slow_computing()));
  const ModelCheck check = check_model(it.graph, it.model).at(0);
  CHECK(check.steps >= 20);
  CHECK(check.predicted_ns == Approx(check.seen_ns).epsilon(0.02));
  CHECK(check.disturbances >= 3);
  CHECK(check.median_error < 0.2);
}

TEST_CASE("Changes are read, and others are refused with examples") {
  for (const char* good :
       {"rank:7=median", "rank:0,4-7=median", "host=none", "input=none", "transfers=median",
        "computing=-10%", "all_reduce=+50%", "all_reduce:data=-20%", "bucket=100M",
        "rank:7=median+host=none+all_reduce=+5%"})
    CHECK(parse_what_if(good));
  CHECK(parse_what_if("host=none+all_reduce=+5%")->changes.size() == 2);
  CHECK(parse_what_if("all_reduce=-20%")->changes[0].factor == Approx(0.8));
  for (const char* bad :
       {"", "rank=median", "rank:x=median", "rank:7=fast", "host=some", "all_reduce=20",
        "all_reduce=-200%", "all_reduce:wrong=-20%", "bucket=0", "bucket=much", "host=none+"}) {
    CAPTURE(bad);
    const auto none = parse_what_if(bad);
    REQUIRE(!none);
    CHECK(none.error().code == base::Errc::invalid_argument);
    CHECK(!none.error().hint.empty());
  }
  const Found it = found_of(two_by_two(1, {}));
  const auto none = predict(it.graph, it.model, check_model(it.graph, it.model),
                            base::value_or_throw(parse_what_if("broadcast=-20%")), it.texts);
  REQUIRE(!none);
  CHECK(none.error().code == base::Errc::not_found);
}
