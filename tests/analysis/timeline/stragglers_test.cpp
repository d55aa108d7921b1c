// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/stragglers.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

#include <numeric>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

// Collectives number 0, 1, ... of as many steps; starts by collective and rank.
struct Case {
  std::vector<std::vector<std::int64_t>> starts;
  bool steps = true;
  bool needs_all = true;
  std::int64_t first_end_ns = 0; // added to the end of rank 0

  CollectiveTable table() const {
    CollectiveTable out;
    for (int rank = 0; rank < static_cast<int>(starts[0].size()); ++rank)
      for (std::size_t i = 0; i < starts.size(); ++i) {
        CollectivePart part;
        part.key = {1, i};
        if (steps)
          part.step = {0, 0, static_cast<std::uint32_t>(i)};
        part.expected_ranks = static_cast<std::uint32_t>(starts[0].size());
        part.needs_all = needs_all;
        std::int64_t start = starts[i][static_cast<std::size_t>(rank)];
        std::int64_t end = static_cast<std::int64_t>(i + 1) * 100'000;
        out.add(part, start, rank == 0 ? end + first_end_ns : end, rank);
      }
    return out;
  }

  Stragglers find(const Clocks& clocks = {}) const {
    std::vector<int> ranks(starts[0].size());
    std::iota(ranks.begin(), ranks.end(), 0);
    StartSample sample(starts.size(), ranks.size());
    for (std::size_t i = 0; i < starts.size(); ++i)
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        sample.note(i, rank, starts[i][rank]);
    return only(find_stragglers(table(), sample, ranks, clocks));
  }
};

// Rank 2 comes 60, 70 or 80 ns after the others, who come at 0, 10 and 20 ns.
Case late_rank(std::size_t collectives) {
  Case made;
  for (std::size_t i = 0; i < collectives; ++i) {
    auto base = static_cast<std::int64_t>(i) * 100'000;
    made.starts.push_back(
        {base, base + 10, base + 80 + static_cast<std::int64_t>(i % 3) * 10, base + 20});
  }
  return made;
}

} // namespace

TEST_CASE("The rank that comes late is found, with what it costs") {
  Stragglers found = late_rank(30).find();
  CHECK(found.steps == 30);
  CHECK(found.per_step);
  CHECK(found.sampled == 30);
  CHECK(found.skew.collectives == 30);
  CHECK(found.skew.complete == 30);
  CHECK(found.skew.single == 0);
  CHECK(found.skew.median->value_ns == 90);
  CHECK(found.skew.largest->value_ns == 100);
  const Straggler& late = found.ranks[2];
  // Starts 0, 10, 20 and 80 to 100: their median is 15.
  CHECK(late.lateness->value_ns == 75);
  CHECK(late.lateness_interval->low == 65);
  CHECK(late.lateness_interval->high == 85);
  CHECK(late.score == Approx(75 / (1.4826 * 10)));
  REQUIRE(late.score_interval);
  CHECK(late.score_interval->low <= *late.score);
  CHECK(late.score_interval->high >= *late.score);
  REQUIRE(found.skew.median_interval);
  CHECK(found.skew.median_interval->low <= 90);
  CHECK(found.skew.median_interval->high >= 90);
  CHECK(found.skew.p99_interval->high == 100);
  CHECK(late.times_last == 30);
  CHECK(late.delay.value_ns == 70); // 60, 70, 80 after the second last
  REQUIRE(late.delay_interval);
  CHECK(late.delay_interval->low > 65);
  CHECK(late.delay_interval->low < 70);
  CHECK(late.delay_interval->high > 70);
  CHECK(late.delay_interval->high < 75);
  for (std::size_t rank : {0u, 1u, 3u}) {
    CHECK(found.ranks[rank].times_last == 0);
    CHECK(found.ranks[rank].delay.value_ns == 0);
    CHECK_FALSE(found.ranks[rank].delay_interval);
    CHECK_FALSE(found.ranks[rank].score); // does not scatter
  }
  CHECK(found.ranks[0].lateness->value_ns == -15);
}

TEST_CASE("Delays are known for stretches of steps") {
  const Stragglers few = late_rank(30).find();
  REQUIRE(few.stretches == std::vector<std::size_t>(30, 1));
  CHECK(few.ranks[0].delay_by_stretch_ns.empty()); // never last
  const std::vector<double>& by_step = few.ranks[2].delay_by_stretch_ns;
  REQUIRE(by_step.size() == 30);
  CHECK(by_step[0] == 60);
  CHECK(by_step[1] == 70);
  CHECK(by_step[29] == 80);

  const Stragglers many = late_rank(300).find();
  REQUIRE(many.stretches == std::vector<std::size_t>(100, 3));
  CHECK(many.ranks[2].delay_by_stretch_ns == std::vector<double>(100, 70)); // 60, 70 and 80
}

TEST_CASE("Delays are per step, of however many collectives") {
  Case made = late_rank(30);
  for (auto& starts : made.starts)
    starts[2] = starts[0] + 50;
  CHECK(made.find().ranks[2].delay.value_ns == 30);
  made.steps = false;
  Stragglers found = made.find();
  CHECK_FALSE(found.per_step);
  CHECK(found.steps == 30);
  CHECK(found.ranks[2].delay.value_ns == 30);
}

TEST_CASE("Below twice the clocks' error nobody is late") {
  Clocks clocks;
  const ClockModel other = steady_clock(0, 36);
  clocks.ranks[0] = {0, ClockModel{}, {}};
  clocks.ranks[1] = {0, ClockModel{}, {}};
  clocks.ranks[2] = {1, other, {}};
  clocks.ranks[3] = {0, ClockModel{}, {}};
  Stragglers found = late_rank(30).find(clocks);
  // 60 and 70 ns after the second last are below 2 x 36, 80 is not.
  CHECK(found.ranks[2].times_last == 10);
  CHECK(found.ranks[2].delay.value_ns == Approx(80. * 10 / 30));
  CHECK(found.ranks[2].delay.error_ns == Approx(36. * 10 / 30));
  CHECK(found.ranks[2].lateness->is_shown());
  CHECK(format_us(*found.skew.median) == "0.09 +- 0.04 us");

  clocks.ranks[2].host = steady_clock(0, 500);
  found = late_rank(30).find(clocks);
  CHECK(found.ranks[2].times_last == 0);
  CHECK_FALSE(found.ranks[2].lateness->is_shown());
  CHECK_FALSE(found.ranks[2].lateness_interval);
  CHECK_FALSE(found.ranks[2].score);
  CHECK(found.ranks[0].lateness->error_ns == 500); // it is compared with rank 2
}

TEST_CASE("A collective that ends before all have begun shows an error of the clocks") {
  Case made = late_rank(10);
  PhysicsCheck good = check_physics(made.table(), {});
  CHECK(good.checked == 10);
  CHECK(good.violations == 0);
  CHECK(good.worst_margin_ns == 100'000 - 100);

  made.first_end_ns = -100'000 + 95; // ends 95 ns after its start: rank 2 begins at 80, 90, 100
  PhysicsCheck bad = check_physics(made.table(), {});
  CHECK(bad.violations == 3);
  CHECK(bad.beyond_bound == 3);
  CHECK(bad.worst_margin_ns == -5);

  Clocks clocks;
  const ClockModel other = steady_clock(0, 10);
  clocks.ranks[0] = {0, ClockModel{}, {}};
  clocks.ranks[2] = {1, other, {}};
  CHECK(check_physics(made.table(), clocks).violations == 3);
  CHECK(check_physics(made.table(), clocks).beyond_bound == 0);

  made.needs_all = false; // a broadcast's root may leave early
  CHECK(check_physics(made.table(), {}).checked == 0);
  CHECK_FALSE(check_physics(made.table(), {}).worst_margin_ns);
}

TEST_CASE("Nobody is to blame for a collective that not all ranks of it tell of") {
  CollectiveTable table;
  const std::vector<int> ranks{0, 1};
  CollectivePart part;
  part.key = {1, 1};
  part.expected_ranks = 3;
  for (int rank : ranks)
    table.add(part, 100 * rank, 1000, rank);
  const Stragglers found = only(find_stragglers(table, StartSample(1, 2), ranks, {}));
  CHECK(found.skew.collectives == 1);
  CHECK(found.skew.complete == 0);
  CollectiveTable untold; // on how many ranks they should be
  part.expected_ranks = 0;
  for (int rank : ranks)
    untold.add(part, 100 * rank, 1000, rank);
  CHECK(only(find_stragglers(untold, StartSample(1, 2), ranks, {})).skew.complete == 1);
  CHECK(found.ranks[1].times_last == 0);
}

TEST_CASE("Collectives of two cells share no figure") {
  Case late = late_rank(30), even = late_rank(30);
  for (auto& starts : even.starts)
    starts[2] = starts[0] + 5;
  CollectiveTable table;
  StartSample sample(60, 4);
  std::size_t next = 0;
  for (int rank = 0; rank < 4; ++rank)
    for (int cell : {3, 7})
      for (std::size_t i = 0; i < 30; ++i) {
        CollectivePart part;
        part.key = {static_cast<std::uint64_t>(cell), i};
        part.step = {cell, 0, static_cast<std::uint32_t>(i)};
        part.expected_ranks = 4;
        const std::int64_t start =
            (cell == 3 ? late : even).starts[i][static_cast<std::size_t>(rank)];
        table.add(part, start, start + 1000, rank);
        sample.note(next++ % 60, static_cast<std::size_t>(rank), start);
      }
  const auto cells = find_stragglers(table, sample, {0, 1, 2, 3}, {});
  REQUIRE(cells.size() == 2);
  CHECK(cells.at(3).skew.median->value_ns == 90);
  CHECK(cells.at(3).ranks[2].delay.value_ns == 70);
  CHECK(cells.at(3).ranks[2].lateness->value_ns == 75);
  CHECK(cells.at(3).steps == 30);
  CHECK(cells.at(7).skew.median->value_ns == 20);
  CHECK(cells.at(7).ranks[2].times_last == 0);
  CHECK(cells.at(7).ranks[2].lateness->value_ns == -2.5);
}

TEST_CASE("One rank is neither early nor late") {
  Case made;
  made.starts = {{0}, {100}};
  Stragglers found = made.find();
  CHECK(found.skew.collectives == 0);
  CHECK(found.skew.single == 2);
  CHECK_FALSE(found.skew.median);
  CHECK_FALSE(found.ranks[0].lateness);
  CHECK(found.ranks[0].delay.value_ns == 0);
  CHECK(check_physics(made.table(), {}).checked == 0);
}

TEST_CASE("Of many collectives some of all stretches are kept, in memory that ranks share") {
  StartSample sample(1'000'000, 64, 1 << 16);
  CHECK(sample.size() <= (1 << 16) / 64);
  CHECK(sample.size() > 900);
  const std::size_t chosen = sample.collective(1);
  CHECK(chosen / 977 == 1);
  sample.note(chosen, 5, 33);
  sample.note(chosen + 1, 5, 44);
  bool at_even_distances = true;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    CHECK(sample.collective(i) < 1'000'000);
    at_even_distances = at_even_distances && sample.collective(i) % 977 == chosen % 977;
  }
  CHECK_FALSE(at_even_distances);
  CHECK(sample.start(1, 5) == 33);
  CHECK_FALSE(sample.start(1, 6));
  CHECK(StartSample(0, 8).size() == 0);
}
