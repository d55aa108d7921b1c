// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tool.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace std::chrono_literals;
using launch::output_of_tool;

namespace {

const std::vector<std::string> k_environment{"PATH=/usr/bin:/bin"};

} // namespace

TEST_CASE("a tool's output is taken as it is, escape codes and all, and errors are no output") {
  auto output =
      output_of_tool({"sh", "-c", "printf '\\033[4mGPU0\\n'; echo oops >&2"}, k_environment, 10s);

  REQUIRE(output);
  CHECK(*output == "\033[4mGPU0\n");
}

TEST_CASE("long output is complete") {
  auto output = output_of_tool({"head", "-c", "1000000", "/dev/zero"}, k_environment, 10s);

  REQUIRE(output);
  CHECK(output->size() == 1000000);
}

TEST_CASE("a tool that is not there, one that fails and one that hangs are told apart") {
  auto missing = output_of_tool({"no-such-tool"}, k_environment, 10s);
  auto failing = output_of_tool({"sh", "-c", "echo no GPU here >&2; exit 9"}, k_environment, 10s);
  auto hanging = output_of_tool({"sleep", "100"}, k_environment, 50ms);

  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == base::Errc::not_found);
  REQUIRE_FALSE(failing);
  CHECK_THAT(failing.error().message,
             ContainsSubstring("exit 9") && ContainsSubstring("no GPU here"));
  REQUIRE_FALSE(hanging);
  CHECK(hanging.error().code == base::Errc::timed_out);
}
