// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::worst;

namespace {

constexpr std::int64_t k_hour_s = 3600;
constexpr std::int64_t k_day_s = 24 * k_hour_s;

Case with(std::vector<model::Xid> xids) {
  Case one = healthy_case();
  one.surveys[0].host->kernel_log.uptime_s = 10 * k_day_s;
  one.surveys[0].host->kernel_log.xids = std::move(xids);
  return one;
}

} // namespace

TEST_CASE("an Xid that asks for a reset is a failure only while it is young, or of unknown age") {
  CHECK(worst(with({{79, "0000:3b:00", "line", 2 * k_hour_s}}), "D11") == CheckStatus::fail);
  CHECK(worst(with({{79, "0000:3b:00", "line", std::nullopt}}), "D11") == CheckStatus::fail);
  CHECK(worst(with({{79, "0000:3b:00", "line", 3 * k_day_s}}), "D11") == CheckStatus::warn);
  CHECK(worst(with({{79, "0000:3b:00", "line", 20 * k_day_s}}), "D11") == CheckStatus::info);
}

TEST_CASE("an Xid that asked for a new start is forgotten after a day") {
  CHECK(worst(with({{31, "0000:3b:00", "line", k_hour_s}}), "D11") == CheckStatus::warn);
  CHECK(worst(with({{31, "0000:3b:00", "line", 3 * k_day_s}}), "D11") == CheckStatus::info);
}

TEST_CASE("an Xid without an action in NVIDIA's catalogue is judged by what it means") {
  CHECK(worst(with({{162, "0000:3b:00", "line", k_hour_s}}), "D11") == CheckStatus::warn);
  CHECK(worst(with({{171, "0000:3b:00", "line", k_hour_s}}), "D11") == CheckStatus::fail);
  CHECK(worst(with({{901, "0000:3b:00", "line", k_hour_s}}), "D11") == CheckStatus::fail);
}

TEST_CASE("old and new Xids are told apart, each with its age") {
  auto findings = found(with({{79, "0000:3b:00", "line of the first boot", 20 * k_day_s},
                              {48, "0000:3b:00", "line of old", 3 * k_day_s},
                              {79, "0000:4b:00", "line of new", 40 * 60},
                              {31, "0000:4b:00", "timeless line", std::nullopt}}),
                        "D11");

  REQUIRE(findings.size() >= 3);
  CHECK(findings[0].status == CheckStatus::fail);
  CHECK(findings[0].what.kind == "xids");
  CHECK(value(findings[0].what, "xids") == "2 Xids");
  CHECK(findings[0].evidence.at(2) == "age unknown: timeless line");
  CHECK(findings[0].evidence.at(3) == "40 min ago: line of new");
  CHECK(findings[1].status == CheckStatus::warn);
  CHECK(findings[1].what.kind == "xids_old");
  CHECK(value(findings[1].what, "limit_h") == "24");
  CHECK(findings[1].evidence.back() == "3 days ago: line of old");
  CHECK(findings[2].status == CheckStatus::info);
  CHECK(findings[2].what.kind == "xids_before_boot");
}

TEST_CASE("without the host's uptime an old Xid still counts as one of this start") {
  Case one = with({{79, "0000:3b:00", "line", 20 * k_day_s}});
  one.surveys[0].host->kernel_log.uptime_s.reset();

  CHECK(worst(one, "D11") == CheckStatus::warn);
}
