// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"
#include "support/catch.h"

namespace ncclprobe::knowledge {

TEST_CASE("a capability is read however people write it") {
  for (const char* text : {"8.9", "sm_89", "SM_89", "compute_89", "89"}) {
    INFO(text);
    auto read = parse_compute_capability(text);
    REQUIRE(read);
    CHECK(*read == ComputeCapability{8, 9});
  }
  CHECK(parse_compute_capability("sm_120")->text() == "12.0");
  CHECK(parse_compute_capability("12.1")->sm() == "sm_121");
}

TEST_CASE("suffixes say how far code reaches") {
  CHECK(parse_code_target("sm_90a")->reach == Reach::exact);
  CHECK(parse_code_target("sm_100f")->reach == Reach::family);
  CHECK(parse_code_target("9.0a")->sm() == "sm_90a");
  CHECK(parse_code_target("compute_120f")->compute() == "compute_120f");
  CHECK_FALSE(parse_compute_capability("sm_90a"));
}

TEST_CASE("what is no capability is refused with an example") {
  for (const char* text :
       {"", "8", "a", "f", "8.", ".9", "8.99", "sm_", "-8.9", "8,9", "sm_99999"}) {
    INFO(text);
    auto read = parse_code_target(text);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().text(), ContainsSubstring("sm_89"));
  }
}

TEST_CASE("versions compare by number, not by letter") {
  auto version = [](const char* text) { return base::value_or_throw(parse_version(text)); };

  CHECK(version("2.10") > version("2.9"));
  CHECK(version("525.60.13") < version("525.105.17"));
  CHECK(version("12.1") == version("12.1.0"));
  CHECK(version("2.28.3+cuda13.0").text() == "2.28.3");
  CHECK(version("r570").major() == 570);
  CHECK(version("450.80.02").text() == "450.80.02");
  CHECK_FALSE(parse_version("unknown"));
  CHECK_FALSE(parse_version("99999999999999999999"));
}

} // namespace ncclprobe::knowledge
