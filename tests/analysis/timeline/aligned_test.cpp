// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/aligned.h"
#include "support/catch.h"

using namespace ncclprobe::analysis::timeline;

TEST_CASE("Times with errors are printed with as many digits as they have") {
  CHECK(format_us({3100, 800}) == "3.1 +- 0.8 us");
  CHECK(format_us({1500, 800}) == "not shown (below 2 x 0.8 us)");
  CHECK(format_us({1600, 800}) == "1.6 +- 0.8 us");
  CHECK(format_us({-3100, 0}) == "-3.1 us");
  CHECK(format_us({0, 0}) == "0.0 us");
  CHECK(format_us({1234, 12}) == "1.23 +- 0.01 us");
  CHECK(format_us({123456, 10000}) == "123 +- 10 us");
}

TEST_CASE("One wide error does not make a median wrong by more than its neighbours are") {
  const Aligned middle = quantile_of({10, 20, 30, 40, 50}, {1, 1, 1, 1, 5000}, 0.5);
  CHECK(middle.value_ns == 30);
  CHECK(middle.error_ns == 11); // the last may be the first, and then 20 - 1 in the middle
  CHECK(quantile_of({10, 20, 30}, {4, 4, 4}, 0.5).error_ns == 4);
  CHECK(quantile_of({10, 20, 30}, {4, 4, 4}, 1).value_ns == 30);
}
