// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/preflight.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

model::HostInventory fitting_host() {
  model::HostInventory host;
  host.worker_version = "ncclprobe-worker 0.1.0, nvidia backend: CUDA 13.0.88, architectures 90";
  host.gpus.resize(1);
  host.gpus[0].compute_capability = "9.0";
  host.libraries = {{"cuda_driver", "580.95.05 (CUDA 13.0)", "", ""},
                    {"cuda_runtime", "13.0", "", ""}};
  return host;
}

} // namespace

TEST_CASE("nothing is said before a run on a machine whose parts fit") {
  CHECK(preflight({fitting_host()}, "nvidia", World{}).empty());
}

TEST_CASE("a driver that is too old is said before a run") {
  model::HostInventory host = fitting_host();
  host.libraries[0].version = "550.54.14 (CUDA 12.4)";

  auto findings = preflight({host}, "nvidia", World{});

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].id == "D04");
}

TEST_CASE("a misspelt or refused variable is said before a run on every backend") {
  World world;
  world.environment_by_name = {{"NCCL_P2P_DISABEL", "1"}, {"HOME", "/root"}};
  for (const char* backend : {"nvidia", "host", "synthetic"}) {
    auto findings = preflight({fitting_host()}, backend, world);
    INFO(backend);
    REQUIRE(findings.size() == 1);
    CHECK_THAT(findings[0].what.text, ContainsSubstring("NCCL's name is NCCL_P2P_DISABLE"));
  }

  world.environment_by_name = {{"NCCL_ALGO", "Rng"}};
  CHECK_THAT(preflight({fitting_host()}, "host", world).at(0).what.text,
             ContainsSubstring("refuses NCCL_ALGO=Rng"));
}

TEST_CASE("what slows NCCL down is said where there is NCCL only") {
  World world;
  world.environment_by_name = {{"NCCL_P2P_DISABLE", "1"}};

  CHECK(preflight({fitting_host()}, "nvidia", world).size() == 1);
  CHECK(preflight({fitting_host()}, "host", world).empty());
}
