// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/hit_counts.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::tuning;

TEST_CASE("hit counts are read as they were written") {
  const HitCounts counts{std::string(64, 'a'), 12, 3, {{1, 0}, {0, ~std::uint64_t{0}}}};
  CHECK(parse_hit_counts(to_text(counts), "hits.csv") == counts);

  const std::string text = to_text(counts);
  for (const std::string& wrong :
       {std::string(), text.substr(1), text + "\n", text + "4,1,1\n", text + "3,-1,1\n"}) {
    auto read = parse_hit_counts(wrong, "hits.csv");
    REQUIRE(!read);
    CHECK(read.error().code == Errc::protocol);
    CHECK_THAT(read.error().message, Catch::Matchers::StartsWith("hits.csv:"));
  }
}
