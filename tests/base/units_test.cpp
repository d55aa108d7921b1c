// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"
#include "support/catch.h"

using namespace ncclprobe::base;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("sizes are binary, with or without B or iB") {
  CHECK(*parse_bytes("0") == 0);
  CHECK(*parse_bytes("8") == 8);
  CHECK(*parse_bytes("512B") == 512);
  CHECK(*parse_bytes("64K") == 65536);
  CHECK(*parse_bytes("64k") == 65536);
  CHECK(*parse_bytes("1MiB") == 1048576);
  CHECK(*parse_bytes("2GB") == 2147483648);
  CHECK(*parse_bytes("1T") == 1099511627776);
}

TEST_CASE("what is no size is refused, with the text in the message") {
  for (const char* text : {"", "K", "-1", "1.5M", "1 K", "1Q", "1KB/s", "99999999999T", "0x10"}) {
    INFO(text);
    auto size = parse_bytes(text);
    REQUIRE_FALSE(size.has_value());
    CHECK(size.error().code == Errc::invalid_argument);
    CHECK_THAT(size.error().message, ContainsSubstring("'" + std::string(text) + "'"));
  }
}

TEST_CASE("formatted sizes are exact and read back") {
  CHECK(format_bytes(0) == "0");
  CHECK(format_bytes(1536) == "1536");
  CHECK(format_bytes(1048576) == "1M");
  CHECK(format_bytes(3 * 1024) == "3K");
  for (std::uint64_t bytes : {0ULL, 1ULL, 1023ULL, 1024ULL, 5ULL << 20, 7ULL << 40, 1ULL << 52}) {
    INFO(bytes);
    CHECK(*parse_bytes(format_bytes(bytes)) == bytes);
  }
}

TEST_CASE("ranges of sizes go by a factor or a step and include the last size if met") {
  CHECK(*parse_sizes("8:64:x2") == Sizes{8, 16, 32, 64});
  CHECK(*parse_sizes("8:100:x4") == Sizes{8, 32});
  CHECK(*parse_sizes("1M:3M:+1M") == Sizes{1 << 20, 2 << 20, 3 << 20});
  CHECK(*parse_sizes("8:32") == Sizes{8, 16, 32});
  CHECK(*parse_sizes("64K") == Sizes{65536});
}

TEST_CASE("a list of sizes keeps its order and drops duplicates") {
  CHECK(*parse_sizes("1M,8,8:16,1M") == Sizes{1 << 20, 8, 16});
}

TEST_CASE("a range up to the largest number ends") {
  CHECK(parse_sizes("1:18446744073709551615:x2")->size() == 64);
  CHECK(*parse_sizes("18446744073709551614:18446744073709551615:+1") ==
        Sizes{18446744073709551614ULL, 18446744073709551615ULL});
}

TEST_CASE("ranges that never end or make no sense are refused") {
  for (const char* text : {"8:4:x2", "8:64:x1", "8:64:x0", "8:64:+0", "0:64:x2", "8:64:2",
                           "8:64:", "1:2:x2:3", "8,,16", ",", "", "1:1000000:+1"}) {
    INFO(text);
    auto sizes = parse_sizes(text);
    REQUIRE_FALSE(sizes.has_value());
    CHECK(sizes.error().code == Errc::invalid_argument);
  }
}

TEST_CASE("exactly ten thousand sizes are allowed") {
  CHECK(parse_sizes("1:10000:+1")->size() == 10'000);
  CHECK_FALSE(parse_sizes("1:10001:+1").has_value());
}

TEST_CASE("durations are read in six units, seconds by default") {
  CHECK(*parse_duration_ns("30") == 30'000'000'000);
  CHECK(*parse_duration_ns("90s") == 90'000'000'000);
  CHECK(*parse_duration_ns("500ms") == 500'000'000);
  CHECK(*parse_duration_ns("20us") == 20'000);
  CHECK(*parse_duration_ns("2m") == 120'000'000'000);
  CHECK(*parse_duration_ns("2min") == 120'000'000'000);
  CHECK(*parse_duration_ns("1.5h") == 5'400'000'000'000);
}

TEST_CASE("durations of nothing, below zero, without end or sense are refused") {
  for (const char* text : {"", "s", "0", "0s", "-5s", "nan", "inf", "1e30h", "5 s", "5x"}) {
    INFO(text);
    CHECK_FALSE(parse_duration_ns(text).has_value());
  }
}

TEST_CASE("durations for people have a unit that fits") {
  CHECK(format_duration(750) == "750 ns");
  CHECK(format_duration(11'300) == "11.3 us");
  CHECK(format_duration(1'250'000) == "1.25 ms");
  CHECK(format_duration(-15'798'067) == "-15.80 ms");
  CHECK(format_duration(2.5e9) == "2.5 s");
  CHECK(format_duration(125e9) == "2 min 05 s");
  CHECK(format_duration(3'720e9) == "1 h 02 min");
}
