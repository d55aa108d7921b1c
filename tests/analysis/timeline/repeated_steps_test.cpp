// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/repeated_steps.h"
#include "support/catch.h"

#include <numeric>

using namespace ncclprobe::analysis::timeline;

namespace {

// Collectives at intervals of 1 ms; a step begins 10 ms after the previous one.
class Sequence {
public:
  void step(const std::vector<std::uint64_t>& kinds) {
    now_ns_ += 9'000'000;
    for (std::uint64_t kind : kinds)
      one(kind);
  }
  void one(std::uint64_t kind) {
    now_ns_ += 1'000'000;
    all.push_back({kind, now_ns_, now_ns_ + 300'000});
  }
  std::vector<ObservedCollective> all;

private:
  std::int64_t now_ns_ = 0;
};

} // namespace

TEST_CASE("Steps of training are what repeats itself, from the longest pause on") {
  Sequence job;
  for (std::uint64_t kind : {90, 91, 91, 1}) // parameters are sent, the first step has one bucket
    job.one(kind);
  for (int step = 0; step < 39; ++step)
    job.step({1, 2, 3, 2});
  job.one(99); // a barrier

  const auto found = repeated_steps(job.all);

  REQUIRE(found);
  CHECK(found->collectives == 4);
  REQUIRE(found->steps.size() == 39);
  CHECK(found->steps[0].begin == job.all[4].begin_ns);
  CHECK(found->steps[0].end == job.all[7].end_ns);
  CHECK(found->steps[38].end == job.all[4 * 39 + 3].end_ns);
}

TEST_CASE("An evaluation now and then is no step") {
  Sequence job;
  for (int step = 0; step < 60; ++step) {
    job.step({1, 2, 2});
    if (step % 20 == 19)
      job.one(7);
  }
  const auto found = repeated_steps(job.all);
  REQUIRE(found);
  CHECK(found->collectives == 3);
  CHECK(found->steps.size() == 60);
}

TEST_CASE("One collective in each step is a step") {
  Sequence job;
  for (int step = 0; step < 10; ++step)
    job.step({5});
  const auto found = repeated_steps(job.all);
  REQUIRE(found);
  CHECK(found->collectives == 1);
  CHECK(found->steps.size() == 10);
}

TEST_CASE("What does not repeat itself often has no steps") {
  Sequence job;
  for (std::uint64_t i = 0; i < 200; ++i)
    job.one(i * i % 83);
  CHECK_FALSE(repeated_steps(std::span(job.all).first(80)));
  CHECK_FALSE(repeated_steps({}));
  Sequence few;
  for (int step = 0; step < 7; ++step)
    few.step({1, 2});
  CHECK_FALSE(repeated_steps(few.all));
}
