// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/timeline.h"
#include "analysis/timeline/trace_builder.h"
#include "analysis/timeline/trace_window.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

// Warm-up from 0 on, then two cells of 3 steps of 1 ms each from 10 ms on; rank 1 comes 0.1 ms
// later. The host enqueues each step 0.05 ms before.
constexpr std::int64_t k_ms = 1'000'000;
TraceSource two_ranks() {
  std::vector<RankBuilder> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankBuilder& trace = ranks[static_cast<std::size_t>(rank)];
    trace.compute({0, k_ms}, trace.operation({0, -1, 0}));
    for (std::uint32_t step = 0; step < 6; ++step) {
      StepKey key{static_cast<int>(step / 3), 0, step % 3};
      std::int64_t at = 10 * k_ms + step * k_ms + rank * k_ms / 10;
      trace.communicate({at, at + k_ms / 2},
                        trace.operation(key, 0, trace::OperationKind::collective, at - k_ms / 20));
    }
  }
  return source_of(ranks);
}

TraceExtent extent_in(const TraceSource& source) {
  return base::value_or_throw(extent_of(source, fit_clocks(source.ranks)));
}

WindowRequest window(const char* text) {
  return base::value_or_throw(parse_window(text));
}

Timeline analysed(const char* text) {
  analysis::Finding told;
  return base::value_or_throw(
      analyse(base::value_or_throw(restricted(two_ranks(), window(text), told))));
}

} // namespace

TEST_CASE("A window is written as times or as steps") {
  CHECK(window("0:5ms").from_ns == 0);
  CHECK(window("0:5ms").until_ns == 5 * k_ms);
  CHECK(window("0ms:5ms").from_ns == 0);
  CHECK_FALSE(window(":500us").from_ns);
  CHECK_FALSE(window("1.5s:").until_ns);
  CHECK(window("1.5s:").from_ns == 1500 * k_ms);
  CHECK(window("-2ms:1ms").from_ns == -2 * k_ms);
  CHECK(window("step:3").steps->first == 3);
  CHECK(window("step:3").steps->last == 3);
  CHECK(window("step:3-5").steps->last == 5);
  for (const char* text :
       {"", "5ms", "3s:2s", "step:", "step:x", "step:3-", "step:5-3", "step:-1", "a:b"})
    CHECK_FALSE(parse_window(text));
}

TEST_CASE("Times count from the first operation of the timed part") {
  TraceExtent extent = extent_in(two_ranks());
  CHECK(extent.first_ns == 0);
  CHECK(extent.timed_ns == 10 * k_ms - k_ms / 20);
  REQUIRE(extent.steps.size() == 6);
  CHECK(extent.steps[4].key == StepKey{1, 0, 1});
  // From the first rank's begin to the last one's, where that begins its next step.
  CHECK(extent.steps[0].span == Span{10 * k_ms, 11 * k_ms + k_ms / 10});
  CHECK(describe(extent) == "the timed part lasts 5.650 ms (6 steps, 0 to 5) and begins 9.950 ms "
                            "after the first event");
  CHECK(resolve(window("0:1ms"), extent)->begin == extent.timed_ns);
  CHECK(resolve(window("0:1ms"), extent)->end == extent.timed_ns + k_ms);
  CHECK(resolve(window(":1ms"), extent)->begin == 0);
  CHECK(*resolve(window("step:1-2"), extent) == Span{11 * k_ms, 12 * k_ms + 6 * k_ms / 10});
}

TEST_CASE("A window that holds nothing says what there is") {
  TraceExtent extent = extent_in(two_ranks());
  auto late = resolve(window("1s:2s"), extent);
  REQUIRE_FALSE(late);
  CHECK(late.error().message == "the window 1s:2s holds nothing");
  CHECK(late.error().hint == describe(extent));
  auto no_step = resolve(window("step:6"), extent);
  REQUIRE_FALSE(no_step);
  CHECK(no_step.error().message == "the trace has no step 6");

  RankBuilder captured;
  captured.nccl(0, {k_ms, 2 * k_ms});
  captured.trace.nccl_operations[0].enqueue_ns = 5 * k_ms;
  TraceExtent without = extent_in(source_of({captured}));
  CHECK(without.timed_ns == 5 * k_ms);
  CHECK_FALSE(resolve(window("step:0"), without));
  CHECK_FALSE(extent_of(source_of({RankBuilder{}}), fit_clocks(source_of({RankBuilder{}}).ranks)));
}

TEST_CASE("A report's window leaves whole steps") {
  for (int cell : {0, 1}) {
    CHECK(analysed("0:").ranks[0].cells.at(cell).steps == 3);
    CHECK(analysed("step:1-4").ranks[0].cells.at(cell).steps == 2);
    CHECK(analysed("step:1-4").stragglers.at(cell).skew.collectives == 2);
  }
  CHECK(analysed("step:1-4").ranks[0].kernels == 4);
  CHECK(analysed("0:2.5ms").ranks[1].cells.at(0).steps == 2); // what is cut is left out
  analysis::Finding told;
  CHECK_FALSE(restricted(two_ranks(), window("0:0.1ms"), told));
  REQUIRE(restricted(two_ranks(), window("step:2-3"), told));
  CHECK(told.kind->id == "window_of_steps");
  CHECK(told.values ==
        analysis::Object{
            {"window", "step:2-3"}, {"steps", 2U}, {"of", 6U}, {"first", 2U}, {"last", 3U}});
}

TEST_CASE("Without steps a report's window leaves what began in it") {
  RankBuilder captured;
  for (std::uint64_t i = 0; i < 10; ++i)
    captured.communicate(
        {static_cast<std::int64_t>(i + 1) * k_ms, static_cast<std::int64_t>(i + 1) * k_ms + 100});
  analysis::Finding told;
  auto source = base::value_or_throw(restricted(source_of({captured}), window("2ms:5ms"), told));
  CHECK(base::value_or_throw(analyse(source)).ranks[0].kernels == 3);
  CHECK(told.kind->id == "window");
  auto between = restricted(source_of({captured}), window("0.2ms:0.8ms"), told);
  REQUIRE_FALSE(between);
  CHECK(between.error().message == "the window 0.2ms:0.8ms holds nothing");
}
