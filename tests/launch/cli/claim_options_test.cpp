// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "launch/cli/claim/claim_command.h"
#include "launch/cli/parsed.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

// Exit code, and what was printed.
std::pair<int, std::string> claim(const std::vector<std::string>& arguments) {
  const support::ScratchFolder folder;
  if (const std::string refused = cli_test::refusal(claim_usage, arguments); !refused.empty())
    return {base::k_exit_usage, refused};
  ClaimOptions options = cli_test::parsed(claim_usage, arguments);
  options.output.file = folder / "answer";
  const int exit_code = check_claim(options);
  return {exit_code, base::read_file(folder / "answer").value()};
}

} // namespace

TEST_CASE("claim says what a faster sync and a shorter step mean") {
  auto [exit_code, text] = claim({"--sync", "-9%", "--step", "-7%"});

  CHECK(exit_code == base::k_exit_ok);
  CHECK(text ==
        "A sync time 9% lower that makes a step 7% shorter means that 78% of the step is exposed\n"
        "communication, or communication that queues.\n");
}

TEST_CASE("a claim that cannot be true, or does not fit, ends with its own code") {
  CHECK(claim({"--sync", "-5%", "--step", "-7%"}).first == base::k_exit_failures);
  CHECK(claim({"--sync", "-9%", "--step", "-7%", "--exposed", "20%", "--communication", "35%"})
            .first == base::k_exit_failures);
  CHECK(claim({"--sync", "-9%", "--step", "-7%", "--exposed", "20%"}).first == base::k_exit_ok);
  CHECK(claim({"--sync", "-9%", "--step", "-1.8%", "--exposed", "20%"}).first == base::k_exit_ok);
}

TEST_CASE("claim refuses shares that cannot be") {
  for (const char* share : {"120%", "10%"}) {
    auto [exit_code, complaint] =
        claim({"--sync", "-9%", "--step", "-7%", "--exposed", "20%", "--communication", share});
    CHECK(exit_code == base::k_exit_usage);
    CHECK_THAT(complaint, ContainsSubstring("--communication"));
  }
}

TEST_CASE("claim refuses what is no change") {
  for (const char* text : {"9", "-9", "x%", "-100%", "%"}) {
    auto [exit_code, complaint] = claim({"--sync", text, "--step", "-7%"});
    CHECK(exit_code == base::k_exit_usage);
    CHECK_THAT(complaint, ContainsSubstring("--sync"));
  }
  CHECK_THAT(parse_change("-100%").error().text(), ContainsSubstring("leaves no time at all"));
  CHECK(parse_change("+3.5%").value() == Approx(0.035));
}
