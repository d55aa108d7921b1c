// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/found_job.h"
#include "analysis/job/what_if.h"
#include "support/catch.h"

#include <algorithm>
#include <array>
#include <random>

// Operations that wait for another rank, while computing goes on beside them.
using namespace ncclprobe;
using namespace ncclprobe::analysis::job;

namespace {

// Two data-parallel ranks with 12 buckets. The GPU of rank 1 is idle before each one, because its
// host is late. So the operations of rank 0 wait for the ones before them: each begins at most 60
// us after the end of the last one.
MadeJob one_always_waits() {
  MadeJob job(2);
  const int data = job.communicator({0, 1});
  std::mt19937_64 random(1);
  for (int step = 0; step < k_simulated_steps; ++step) {
    for (int rank = 0; rank < 2; ++rank)
      job.compute(rank, 10 * k_ms + noise_ns(random, k_ms / 10));
    std::int64_t handed_ns = job.now_ns(0), ready_ns = job.now_ns(1);
    std::int64_t free_ns = job.now_ns(0);
    for (int bucket = 0; bucket < 12; ++bucket) {
      handed_ns += k_ms / 5;
      ready_ns += 3 * k_ms / 2 + noise_ns(random, k_ms / 5);
      const std::int64_t begin_ns =
          std::max(handed_ns + 10'000, free_ns + noise_ns(random, 60'000));
      free_ns = std::max(begin_ns, ready_ns) + k_ms / 7;
      job.collective(data, "AllReduce", static_cast<std::uint64_t>(20 + bucket) * k_mib,
                     {{handed_ns, begin_ns, free_ns}, {ready_ns - 5'000, ready_ns, free_ns}});
    }
  }
  return job;
}

struct HiddenBuckets {
  int late_of_five = 1; // steps
  std::int64_t late_ns = 0;
  std::int64_t queued_ns = 0; // an operation begins up to this long after its stream became free
  // Computing of rank 0 is half as fast while its operations wait, so it loses its lead.
  bool waiting_slows = false;
  // Of rank 0, before its second bucket, in the same steps:
  std::int64_t late_host_ns = 0;
  std::int64_t longer_computing_ns = 0;
};

// Two data-parallel ranks with 12 buckets, which their computing hides. Rank 1 is late in some
// steps. So the operations of rank 0 wait for the ones before them.
MadeJob hidden(const HiddenBuckets& buckets) {
  MadeJob job(2);
  const int data = job.communicator({0, 1});
  std::mt19937_64 random(1);
  for (int step = 0; step < k_simulated_steps; ++step) {
    std::int64_t free_ns = std::max(job.now_ns(0), job.now_ns(1));
    const std::int64_t handed_ns = free_ns;
    std::array<std::int64_t, 2> ready_ns{free_ns + 20 * k_ms, free_ns + 20 * k_ms};
    const bool is_planted = step % 5 < buckets.late_of_five;
    if (is_planted)
      ready_ns[1] += buckets.late_ns;
    for (int bucket = 0; bucket < 12; ++bucket) {
      std::vector<MadeJob::Part> parts;
      for (std::int64_t& ready : ready_ns) {
        ready += 3 * k_ms + noise_ns(random, k_ms / 20);
        const bool queued = ready < free_ns;
        const std::int64_t begin_ns =
            queued ? free_ns + noise_ns(random, buckets.queued_ns) : ready;
        parts.push_back({handed_ns, begin_ns, 0});
      }
      free_ns = std::max(parts[0].begin_ns, parts[1].begin_ns) + k_ms / 5;
      for (MadeJob::Part& part : parts)
        part.end_ns = free_ns;
      if (is_planted && bucket == 0)
        ready_ns[0] += buckets.late_host_ns + buckets.longer_computing_ns;
      if (is_planted && bucket == 1 && buckets.late_host_ns > 0)
        parts[0].enqueued_ns = parts[0].begin_ns - 5'000;
      if (buckets.waiting_slows)
        ready_ns[0] +=
            std::clamp<std::int64_t>(parts[1].begin_ns - parts[0].begin_ns, 0, 6 * k_ms) / 2;
      job.collective(data, "AllReduce", static_cast<std::uint64_t>(20 + bucket) * k_mib, parts);
    }
  }
  return job;
}

// Two data-parallel ranks with two buckets. In every tenth step the first transfer is long, and the
// host of rank 1 is late for the second one, which begins soon after the first one ended.
MadeJob host_late_behind_transfer() {
  MadeJob job(2);
  const int data = job.communicator({0, 1});
  std::mt19937_64 random(1);
  for (int step = 0; step < k_simulated_steps; ++step) {
    const bool is_planted = step % 10 == 9;
    for (int rank = 0; rank < 2; ++rank)
      job.compute(rank, 10 * k_ms + noise_ns(random, 10'000));
    const std::int64_t from_ns = std::max(job.now_ns(0), job.now_ns(1));
    const std::int64_t handed_ns = from_ns - 5 * k_ms;
    const std::int64_t first_end_ns =
        from_ns + (is_planted ? 8 * k_ms : k_ms / 5 + noise_ns(random, 3'600'000));
    job.collective(data, "AllReduce", 50 * k_mib,
                   {{handed_ns, from_ns, first_end_ns}, {handed_ns, from_ns, first_end_ns}});
    const std::int64_t ready_ns = from_ns + 4 * k_ms;
    const std::int64_t late_handed_ns = first_end_ns + 3 * k_ms / 10;
    const std::int64_t late_ns = is_planted ? late_handed_ns + k_ms / 5 : ready_ns;
    const std::int64_t end_ns = late_ns + k_ms / 5;
    job.collective(data, "AllReduce", 20 * k_mib,
                   {{handed_ns, is_planted ? first_end_ns + 5'000 : ready_ns, end_ns},
                    {is_planted ? late_handed_ns : handed_ns, late_ns, end_ns}});
  }
  return job;
}

} // namespace

TEST_CASE("A rank whose operations always wait does not make computing wait for them") {
  const Found it = found_of(one_always_waits());
  REQUIRE(it.model.waited.size() == 1);
  CHECK(it.model.waited[0] == WaitedFor::at_end_of_step);
}

TEST_CASE("Operations that wait on a busy GPU for the one before them do not count as late") {
  for (int late_of_five : {1, 4}) {
    INFO(late_of_five << " of 5 steps are late");
    const Found it = found_of(
        hidden({.late_of_five = late_of_five, .late_ns = 20 * k_ms, .queued_ns = 2 * k_ms / 5}));
    const double late_ns = 20 * k_ms * late_of_five / 5.0;

    const auto predicted = base::value_or_throw(
        predict(it.graph, it.model, check_model(it.graph, it.model),
                base::value_or_throw(parse_what_if("rank:1=median")), it.texts));

    REQUIRE(predicted.size() == 1);
    CHECK(predicted[0].gain.mean_ns == Approx(late_ns).epsilon(0.1));
    CHECK(worst(it).origin.rank == 1);
    REQUIRE(worst(it).gain);
    if (late_of_five == 1) // what is in most steps is usual
      CHECK(worst(it).gain->mean_ns == Approx(late_ns).epsilon(0.1));
  }
}

TEST_CASE("Computing that is slow beside an operation that waits is put down to the late rank") {
  const Found it =
      found_of(hidden({.late_ns = 3 * k_ms, .queued_ns = k_ms / 200, .waiting_slows = true}));
  const double late_ns = 9 * 3 * k_ms / 49.0; // the first step is not measured

  const auto predicted =
      base::value_or_throw(predict(it.graph, it.model, check_model(it.graph, it.model),
                                   base::value_or_throw(parse_what_if("rank:1=median")), it.texts));

  CHECK(worst(it).origin.rank == 1);
  CHECK(worst(it).steps == 9);
  CHECK(worst(it).excess.mean_ns == Approx(late_ns).epsilon(0.1));
  REQUIRE(worst(it).gain);
  CHECK(worst(it).gain->mean_ns == Approx(late_ns).epsilon(0.1));
  REQUIRE(predicted.size() == 1);
  CHECK(predicted[0].gain.mean_ns == Approx(late_ns).epsilon(0.1));
  CHECK(error_of_replay(it) < 1e-4);
}

TEST_CASE("Computing that is mostly slow by itself is named beside an operation that waits") {
  for (std::int64_t longer_ns : {k_ms, 8 * k_ms}) {
    INFO("computing takes " << longer_ns / k_ms
                            << " ms longer by itself, 1.5 ms by waiting, and waited for 3 ms");
    const Found it = found_of(hidden({.late_ns = 3 * k_ms,
                                      .queued_ns = k_ms / 200,
                                      .waiting_slows = true,
                                      .longer_computing_ns = longer_ns}));
    const bool is_own_fault = longer_ns > 3 * k_ms;
    CHECK(worst(it).origin.rank == (is_own_fault ? 0 : 1));
    CHECK(worst(it).origin.cause == DelayCause::computing);
  }
}

TEST_CASE("Changes of ranks and buckets give the same in each order") {
  const Found it =
      found_of(hidden({.late_ns = 3 * k_ms, .queued_ns = k_ms / 200, .waiting_slows = true}));
  std::vector<double> gains_ns;
  for (const char* change : {"rank:1=median+bucket=1000M", "bucket=1000M+rank:1=median"})
    gains_ns.push_back(
        base::value_or_throw(predict(it.graph, it.model, check_model(it.graph, it.model),
                                     base::value_or_throw(parse_what_if(change)), it.texts))
            .at(0)
            .gain.mean_ns);
  CHECK(gains_ns[0] == gains_ns[1]);
  CHECK(gains_ns[0] > 0.4 * k_ms);
}

TEST_CASE("A late host is named although its operations waited for a later rank before") {
  const Found it = found_of(hidden({.late_ns = 3 * k_ms,
                                    .queued_ns = k_ms / 200,
                                    .waiting_slows = true,
                                    .late_host_ns = 3 * k_ms}));
  CHECK(std::ranges::any_of(it.held_up.hold_ups, [](const HoldUp& one) {
    return one.origin == DelayOrigin{DelayCause::host, 0, -1} && one.excess.mean_ns > 0.5 * k_ms;
  }));
}

TEST_CASE("A host that is late just after its stream became free is named") {
  const Found it = found_of(host_late_behind_transfer());
  CHECK(worst(it).origin == DelayOrigin{DelayCause::host, 1, -1});
}
