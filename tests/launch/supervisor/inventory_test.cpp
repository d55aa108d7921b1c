// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "processes.h"

#include "launch/supervisor/supervisor.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

struct Inquiry {
  std::string token = test_launch::make_token();
  base::Result<model::HostInventory> answer;

  explicit Inquiry(const std::string& how, std::chrono::milliseconds patience = 20s)
      : answer(launch::take_inventory(
            {NCCLPROBE_TEST_WORKERS "/inventory",
             {},
             how.empty() ? std::vector{token} : std::vector{token, "INVENTORY=" + how}},
            patience)) {}
};

} // namespace

TEST_CASE("an inventory is what the worker reports when asked with --inventory") {
  Inquiry inquiry("");

  REQUIRE(inquiry.answer.has_value());
  CHECK(inquiry.answer->hostname == "--inventory");
  CHECK(test_launch::processes_with(inquiry.token).empty());
}

TEST_CASE("an inventory worker that ends without an answer is quoted") {
  Inquiry inquiry("exit");

  REQUIRE(!inquiry.answer.has_value());
  CHECK(inquiry.answer.error().code == base::Errc::crashed);
  CHECK_THAT(inquiry.answer.error().message, ContainsSubstring("exit 4"));
  CHECK_THAT(inquiry.answer.error().message, ContainsSubstring("the driver is too old"));
}

TEST_CASE("an inventory worker that hangs is ended") {
  Inquiry inquiry("hang", 100ms);

  REQUIRE(!inquiry.answer.has_value());
  CHECK(inquiry.answer.error().code == base::Errc::timed_out);
  CHECK(test_launch::processes_with(inquiry.token).empty());
}

TEST_CASE("a worker program that is not there is an error") {
  auto answer = launch::take_inventory({"/nonexistent/worker", {}, {}}, 1s);

  REQUIRE(!answer.has_value());
  CHECK(answer.error().code == base::Errc::not_found);
}

TEST_CASE("a survey is what the worker reports when asked for that scope") {
  std::string token = test_launch::make_token();

  auto answer = launch::take_survey({NCCLPROBE_TEST_WORKERS "/inventory", {}, {token}},
                                    model::SurveyScope::host, 20s);

  REQUIRE(answer.has_value());
  CHECK(answer->inventory.hostname == "--survey host");
  CHECK(test_launch::processes_with(token).empty());
}
