// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/policy_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;

namespace {

base::Result<analysis::Policy> read(const std::string& text) {
  support::ScratchFolder folder;
  std::ofstream(folder / "policy.toml") << text;
  return cli::read_policy(folder / "policy.toml");
}

std::string refused(const std::string& text) {
  auto policy = read(text);
  return policy ? "accepted" : policy.error().text();
}

} // namespace

TEST_CASE("a policy is read with all that it can ask for") {
  auto policy = base::value_or_throw(read(R"(
name = "all"
min_compute_capability = "8.0"
min_memory_gb = 40
interconnect = "nvlink"
min_link_gb_per_s = 200.5
min_gpus = 8
same_gpus = true
features = ["bf16", "fp8"]
max_power_w = 700
min_driver_cuda = "12.4"
max_price = 30000
)"));

  CHECK(policy.name == "all");
  CHECK(policy.min_compute_capability->text() == "8.0");
  CHECK(*policy.min_memory_gb == 40);
  CHECK(*policy.interconnect == analysis::LinkKind::nvlink);
  CHECK(*policy.min_link_gb_per_s == 200.5);
  CHECK(*policy.min_gpus == 8);
  CHECK(*policy.same_gpus);
  CHECK(policy.features == std::vector<std::string>{"bf16", "fp8"});
  CHECK(read("features = \"bf16,fp8\"\n")->features == policy.features); // as plan files
  CHECK(*policy.max_power_w == 700);
  CHECK(policy.min_driver_cuda->text() == "12.4");
  CHECK(*policy.max_price == 30000);
}

TEST_CASE("what is no policy is refused with its line, and says what there is") {
  CHECK_THAT(refused("min_gpus = 2\nmin_memory = 40\n"),
             ContainsSubstring("policy.toml:2: 'min_memory' is not a key here") &&
                 ContainsSubstring("min_memory_gb"));
  CHECK_THAT(refused("\n\nmin_memory_gb = \"much\"\n"), ContainsSubstring("policy.toml:3:"));
  CHECK_THAT(refused("min_memory_gb = -1\n"), ContainsSubstring("above zero"));
  CHECK_THAT(refused("min_memory_gb = true\n"), ContainsSubstring("above zero"));
  CHECK_THAT(refused("min_memory_gb = nan\n"), ContainsSubstring("above zero"));
  CHECK_THAT(refused("min_compute_capability = 8.0\n"), ContainsSubstring("as text"));
  CHECK_THAT(refused("min_compute_capability = \"new\"\n"), ContainsSubstring("as text"));
  CHECK_THAT(refused("interconnect = \"rope\"\n"), ContainsSubstring("pcie, nvlink"));
  CHECK_THAT(refused("min_gpus = 0\n"), ContainsSubstring("from 1 to 1024"));
  CHECK_THAT(refused("same_gpus = 1\n"), ContainsSubstring("true or false"));
  CHECK_THAT(refused("features = [\"bf16\",\n\"speed\"]\n"), ContainsSubstring("policy.toml:2:"));
  CHECK_THAT(refused("features = \"speed\"\n"), ContainsSubstring("none of"));
  CHECK_THAT(refused("min_gpus = \n"), ContainsSubstring("policy.toml:1:"));
}

TEST_CASE("a policy that asks for nothing is refused, and one that is not there") {
  CHECK_THAT(refused(""), ContainsSubstring("asks for nothing"));
  CHECK_THAT(refused("name = \"empty\"\n"), ContainsSubstring("asks for nothing"));
  CHECK_THAT(refused("features = []\n"), ContainsSubstring("policy.toml:1: expected"));
  CHECK_THAT(refused("same_gpus = false\n"), ContainsSubstring("asks for nothing"));
  CHECK(read("same_gpus = true\n"));
  CHECK_FALSE(cli::read_policy("/nonexistent/policy.toml"));
}
