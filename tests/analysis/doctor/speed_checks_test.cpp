// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::healthy_cpu_case;
using test_doctor::value;
using test_doctor::worst;

namespace {

Case measured(double busbw_gb_per_s) {
  Case one = healthy_case();
  SmokeTestCell& cell = one.smoke_tests[0].cells[0];
  cell.label.bytes = k_measured_bytes;
  cell.busbw_gb_per_s = busbw_gb_per_s;
  return one;
}

} // namespace

TEST_CASE("an all-reduce that was measured is judged by what is normal for these GPUs") {
  auto normal = found(measured(370), "D34");
  REQUIRE(normal.size() == 1);
  CHECK(normal[0].status == CheckStatus::ok);
  CHECK(value(normal[0].what, "bytes") == std::to_string(512 << 20));
  CHECK(value(normal[0].what, "speed") == "normal");

  auto broken = found(measured(20), "D34");
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].status >= CheckStatus::warn);
  CHECK(value(broken[0].what, "speed") == "broken");
  // Unobserved facts are no evidence.
  for (const std::string& line : broken[0].evidence)
    CHECK_THAT(line, !ContainsSubstring("cause"));
  CHECK(value(broken[0].what, "causes").starts_with("1. "));
}

TEST_CASE("nothing is said of speed where nothing was measured, or that cannot be compared") {
  CHECK(found(healthy_case(), "D34").empty());
  CHECK(found(healthy_cpu_case(), "D34").empty());

  Case two_hosts = measured(20);
  two_hosts.surveys[1].inventory.boot_id = "boot-2";
  CHECK(found(two_hosts, "D34").empty());

  Case failed = measured(20);
  failed.smoke_tests[0].cells[0].outcome = {model::OutcomeKind::wrong_data, "x", {0}};
  CHECK(found(failed, "D34").empty());
}

TEST_CASE("a GPU without memory for the large message is told, and works all the same") {
  Case one = healthy_case();
  SmokeTestCell large = one.smoke_tests[0].cells[0];
  large.label.bytes = k_measured_bytes;
  large.outcome = {model::OutcomeKind::skipped, "rank 1: out of memory", {1}};
  one.smoke_tests[0].cells.push_back(large);

  REQUIRE(found(one, "D34").size() == 1);
  CHECK(found(one, "D34")[0].evidence == std::vector<std::string>{"rank 1: out of memory"});
  CHECK(worst(one, "D34") == CheckStatus::info);
  CHECK(worst(one, "D27") == CheckStatus::ok);
}

TEST_CASE("GPUs that nobody has published figures of are no fault") {
  Case one = measured(20);
  for (model::Survey& survey : one.surveys)
    for (model::CudaDevice& gpu : survey.inventory.gpus) {
      gpu.name = "NVIDIA X1";
      gpu.nvlinks.reset();
    }
  CHECK(worst(one, "D34") == CheckStatus::info);
}
