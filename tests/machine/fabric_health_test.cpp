// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/fabric_health.h"

#include "support/catch.h"

using namespace ncclprobe::topology;

namespace {

using Complaints = std::vector<std::string>;

} // namespace

TEST_CASE("a health mask that answers nothing is no news") {
  CHECK_FALSE(fabric_complaints(0));
}

TEST_CASE("a fabric that answers no to every question is healthy") {
  CHECK(fabric_complaints(0b1010'1010) == Complaints{});
  CHECK(fabric_complaints(0b0001'1010'1010) == Complaints{}); // and its configuration is correct
  CHECK(fabric_complaints(0b10) == Complaints{});             // the only question it knows
}

TEST_CASE("each question of the health mask has its complaint") {
  CHECK(fabric_complaints(0b01) == Complaints{"bandwidth degraded"});
  CHECK(fabric_complaints(0b0100) == Complaints{"route recovery in progress"});
  CHECK(fabric_complaints(0b01'0000) == Complaints{"route unhealthy"});
  CHECK(fabric_complaints(0b0100'0000) == Complaints{"access timeout recovery in progress"});
  CHECK(fabric_complaints(0b0010'0000'0000) == Complaints{"incorrect configuration"});
  CHECK(fabric_complaints(0b0010'1010'1001) ==
        Complaints{"bandwidth degraded", "incorrect configuration"});
}
