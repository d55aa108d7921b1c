// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/event_spools.h"
#include "trace/nccl_rows.h"

#include "support/catch.h"

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ncclprobe;
using namespace ncclprobe::plugin;

namespace {

struct Files {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("event-spools-" + std::to_string(getpid()));
  trace::SpoolWriter whole;
  Files() {
    std::filesystem::create_directories(folder);
    REQUIRE(whole.open(folder / "whole"));
  }
  ~Files() { std::filesystem::remove_all(folder); }
  // Numbers of the spools that are there.
  std::vector<int> turns(int most) const {
    std::vector<int> all;
    for (int i = 1; i <= most; ++i)
      if (std::filesystem::exists(folder / ("turn-" + std::to_string(i) + ".spool")))
        all.push_back(i);
    return all;
  }
};

} // namespace

TEST_CASE("three spools hold at least the last time, and rest while nothing is written") {
  Files files;
  // A period: half of that time, and what a late write takes.
  const std::uint64_t period_ns = 400'000'000;
  EventSpools spools(files.whole, {.last_ns = 300'000'000}, files.folder / "turn");
  auto write_at = [&](double periods) {
    return spools.make_room(10, static_cast<std::uint64_t>(periods * period_ns));
  };

  CHECK(&spools.current() == &files.whole);
  for (double at : {10.1, 10.9, 11.0, 11.9, 12.0, 12.9}) {
    CHECK(write_at(at));
    CHECK(spools.begun() == static_cast<std::uint64_t>(at) - 9);
  }
  CHECK(files.turns(9) == std::vector{1, 2, 3});
  CHECK(write_at(13.0));
  CHECK(files.turns(9) == std::vector{2, 3, 4});
  CHECK(write_at(99.0)); // after a long rest
  CHECK(files.turns(9) == std::vector{3, 4, 5});
  CHECK(write_at(98.0)); // the clock was set back
  CHECK(files.turns(9) == std::vector{4, 5, 6});
}

TEST_CASE("a limit of bytes ends a spool early, or all") {
  Files files;
  const trace::NcclChannelRow row;
  EventSpools turns(files.whole, {.last_ns = 100, .most_bytes = (64 << 10) + 6'000},
                    files.folder / "turn");
  std::uint64_t begun = 0;
  for (int i = 0; i < 500; ++i) {
    REQUIRE(turns.make_room(100, 1'000));
    turns.current().append(0, row);
    begun = turns.begun();
  }
  CHECK(begun > 5);
  std::uint64_t bytes = 0;
  for (int i : files.turns(static_cast<int>(begun)))
    bytes += std::filesystem::file_size(files.folder / ("turn-" + std::to_string(i) + ".spool"));
  CHECK(bytes <= 6'000);
  CHECK_FALSE(turns.make_room(3'000, 1'000));

  EventSpools whole(files.whole, {.most_bytes = (64 << 10) + 1'000}, files.folder / "none");
  CHECK(whole.make_room(500, 0));
  CHECK(&whole.current() == &files.whole);
  CHECK_FALSE(whole.make_room(1'001, 0));
  CHECK(EventSpools(files.whole, {}, "").make_room(SIZE_MAX, 0));
}
