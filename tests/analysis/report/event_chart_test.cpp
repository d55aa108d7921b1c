// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/page/packed_column.h"
#include "analysis/report/event_chart.h"
#include "analysis/report_value/report_writers.h"
#include "analysis/timeline/trace_builder.h"
#include "base/error.h"
#include "base/hash.h"
#include "support/catch.h"

#include <fstream>
#include <numeric>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::timeline;

namespace {

constexpr std::size_t k_compute = static_cast<std::size_t>(Class::compute);
constexpr std::size_t k_communication = static_cast<std::size_t>(Class::communication);

// Three steps, of 100, 300 and 110 ns; a kernel of each lasts into the next.
RankBuilder three_steps() {
  RankBuilder rank;
  for (auto [iteration, begin, end] :
       {std::tuple(0u, 1000, 1100), std::tuple(1u, 1100, 1400), std::tuple(2u, 1400, 1510)}) {
    const std::uint32_t operation = rank.operation({0, 0, iteration});
    rank.compute({begin, begin + 50}, operation);
    rank.communicate({begin + 20, end + 10}, operation);
  }
  return rank;
}

EventChart chart_of(std::vector<RankBuilder> ranks, std::uint64_t most_whole_events) {
  TraceSource source = source_of(std::move(ranks));
  for (RankHead& head : source.ranks)
    head.kernels = 6;
  return value_or_throw(event_chart(source, fit_clocks(source.ranks), {}, most_whole_events));
}

// Events that look like training: kernels of 5 to 60 us, every tenth a collective beside them.
RankBuilder trained(int rank, std::uint32_t steps, std::uint32_t kernels_of_step) {
  RankBuilder built;
  std::int64_t at_ns = 1'000'000 + 300 * rank;
  std::uint64_t seed = static_cast<std::uint64_t>(rank);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint32_t operation = built.operation({0, 0, step});
    for (std::uint32_t i = 0; i < kernels_of_step; ++i) {
      seed = base::mixed(seed + 1);
      const auto jitter = static_cast<std::int64_t>(seed % 1500);
      const std::int64_t length_ns = 5000 + 1000 * (i * 7 % 55) + jitter;
      if (i % 10 == 9)
        built.communicate({at_ns, at_ns + 4 * length_ns}, operation);
      else
        built.compute({at_ns, at_ns + length_ns}, operation);
      at_ns += (i % 10 == 9 ? 0 : length_ns) + 1000 + jitter / 2;
    }
  }
  return built;
}

void write_page(const char* file, std::uint32_t steps) {
  constexpr int k_ranks = 8;
  constexpr std::uint32_t k_kernels_of_step = 1000;
  std::vector<RankBuilder> ranks;
  for (int rank = 0; rank < k_ranks; ++rank)
    ranks.push_back(trained(rank, steps, k_kernels_of_step));
  TraceSource source = source_of(std::move(ranks));
  for (RankHead& head : source.ranks)
    head.kernels = std::uint64_t{steps} * k_kernels_of_step;
  EventChart chart = value_or_throw(event_chart(source, fit_clocks(source.ranks), {}));
  const Report report{.sections = {{.key = "events",
                                    .title = "What ran when on all ranks",
                                    .timelines = {std::move(chart)}}}};
  std::ofstream out(file, std::ios::binary);
  write_html(report, [&](std::string_view piece) { out << piece; });
}

} // namespace

TEST_CASE("a packed column is zlib in Base64") {
  // Header of zlib (78), then a stream that Python's zlib reads as 1, 2, 0, 0, 0, 0, 1, 0.
  CHECK(packed_column({1, 65538}).starts_with("e"));
  CHECK(packed_column({}).size() > 0);
}

TEST_CASE("a timeline has a lane for each stream, and all events if they are few") {
  const EventChart chart = chart_of({three_steps(), three_steps()}, 12);

  REQUIRE(chart.lanes.size() == 4);
  CHECK(chart.lanes[0].title == "rank 0, stream 0");
  CHECK(chart.lanes[3].title == "rank 1, stream 1");
  CHECK(chart.lanes[0].start_ns == std::vector<std::int64_t>{0, 100, 400});
  CHECK(chart.lanes[1].length_ns == std::vector<std::int64_t>{90, 290, 100});
  CHECK(chart.names[chart.lanes[1].name[0]].second == k_communication);
  CHECK(chart.lanes[0].sums.empty());
  CHECK(chart.note.empty());
}

TEST_CASE("a timeline of too many events has exact sums of each step") {
  const EventChart chart = chart_of({three_steps()}, 5);

  REQUIRE(chart.lanes.size() == 2);
  const std::vector<EventSum>& sums = chart.lanes[1].sums;
  REQUIRE(sums.size() == 3);
  CHECK(sums[0].begin_ns == 0);
  CHECK(sums[1].begin_ns == 100);
  CHECK(sums[1].length_ns == 300);
  CHECK(sums[0].busy_ns[k_communication] == 80);
  CHECK(sums[1].busy_ns[k_communication] == 10 + 280);
  CHECK(sums[2].busy_ns[k_communication] == 10 + 100);
  CHECK(chart.lanes[0].sums[1].busy_ns[k_compute] == 50);
  CHECK_FALSE(chart.note.empty());
}

TEST_CASE("of too many events the slowest and the median step are whole") {
  const EventChart chart = chart_of({three_steps()}, 5);

  CHECK(chart.lanes[0].start_ns == std::vector<std::int64_t>{100, 400});
}

// Hidden, because it takes seconds: page_test.py looks at the pages, in the current folder.
TEST_CASE("pages of 8 ranks with 2 and with 8 million events are written", "[.page]") {
  write_page("events-whole.html", 249);
  write_page("events-reduced.html", 1000);
}
