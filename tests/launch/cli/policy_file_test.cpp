// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/policy_file.h"
#include "support/catch.h"
#include "support/refusals.h"
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

TEST_CASE("what is no policy is refused by its line") {
  support::check_refusals(
      {{"min_gpus = 2\nmin_memory = 40\n", {"policy.toml:2:", "'min_memory'", "min_memory_gb"}},
       {"\n\nmin_memory_gb = \"much\"\n", {"policy.toml:3:"}},
       {"min_memory_gb = -1\n", {"above zero"}},
       {"min_memory_gb = true\n", {"above zero"}},
       {"min_memory_gb = nan\n", {"above zero"}},
       {"min_compute_capability = 8.0\n", {"as text"}},
       {"min_compute_capability = \"new\"\n", {"as text"}},
       {"interconnect = \"rope\"\n", {"pcie, nvlink"}},
       {"min_gpus = 0\n", {"1 to 1024"}},
       {"same_gpus = 1\n", {"true or false"}},
       {"features = [\"bf16\",\n\"speed\"]\n", {"policy.toml:2:"}},
       {"features = \"speed\"\n", {"speed"}},
       {"min_gpus = \n", {"policy.toml:1:"}},
       {"features = []\n", {"policy.toml:1:"}},
       {"", {"no requirement"}},
       {"name = \"empty\"\n", {"no requirement"}},
       {"same_gpus = false\n", {"no requirement"}}},
      refused);
  CHECK(read("same_gpus = true\n"));
  CHECK_FALSE(cli::read_policy("/nonexistent/policy.toml"));
}
