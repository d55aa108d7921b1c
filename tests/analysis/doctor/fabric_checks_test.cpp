// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D09, D10.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::what;
using test_doctor::worst;

TEST_CASE("a fabric manager that is missing or of another version is a failure") {
  Case one = healthy_case();
  one.surveys[0].host->driver.fabric_manager_version = "575.57.08";
  CHECK(what(one, "D09").kind == "fabric_manager_mismatch");

  one = healthy_case();
  one.surveys[0].host->driver.services.clear();
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "not_supported"; // before Hopper
  CHECK(what(one, "D09").kind == "fabric_manager_missing");
  CHECK(worst(one, "D09") == CheckStatus::fail);
}

TEST_CASE("GPUs that have joined the fabric need no fabric manager that can be seen") {
  Case one = healthy_case();
  one.surveys[0].host->driver.services.clear();
  CHECK(worst(one, "D09") == CheckStatus::ok);

  one.surveys[0].process.confinement.container = "/.dockerenv";
  CHECK(worst(one, "D09") == CheckStatus::ok);
  CHECK(what(one, "D09").kind == "fabric_joined");
  CHECK(value(what(one, "D09"), "gpus") == "2 GPUs have");
}

TEST_CASE("in a container it is unknown whether the host's fabric manager runs") {
  Case one = healthy_case();
  one.surveys[0].host->driver.services.clear();
  one.surveys[0].process.confinement.container = "/.dockerenv";
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "not_supported";
  CHECK(worst(one, "D09") == CheckStatus::unknown);
  CHECK(found(one, "D09").size() == 1);
  CHECK(what(one, "D09").kind == "fabric_manager_hidden");

  // A GPU that says itself that it has not joined is no matter of what can be seen.
  one.surveys[0].health[1].fabric_state = "in_progress";
  CHECK(worst(one, "D09") == CheckStatus::fail);
  CHECK(what(one, "D09").kind == "fabric_not_joined");
}

TEST_CASE("a virtual machine with NVSwitches may leave the fabric manager to its host") {
  Case one = healthy_case();
  one.surveys[0].host->driver.services.clear();
  one.surveys[0].host->pci.hypervisor = "QEMU";
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "not_supported"; // before Hopper
  CHECK(worst(one, "D09") == CheckStatus::unknown);
  CHECK(what(one, "D09").kind == "fabric_manager_of_host");

  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "in_progress";
  CHECK(worst(one, "D09") == CheckStatus::fail);
  CHECK(what(one, "D09").kind == "fabric_not_joined");
  CHECK_THAT(found(one, "D09").front().fix.text, ContainsSubstring("the virtual machine's host"));
}

TEST_CASE("what there is of NVLink between hosts is told, and nothing where there is nothing") {
  Case one = healthy_case();
  auto of_imex = [&] {
    for (const CheckResult& finding : found(one, "D10"))
      if (finding.what.kind.starts_with("imex_"))
        return finding;
    return CheckResult{};
  };
  CHECK(of_imex().what.kind.empty());
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_cluster = "00000000-0000-0000-0000-000000000000";
  CHECK(of_imex().what.kind.empty());

  for (model::GpuHealth& gpu : one.surveys[0].health) {
    gpu.fabric_cluster = "7d3b24a4-0001-4a53-9f10-c52a8a7d1c0e";
    gpu.fabric_clique = 32766;
  }
  CHECK(of_imex().what.kind == "imex_incomplete");
  CHECK(of_imex().evidence ==
        std::vector<std::string>{"cluster 7d3b24a4-0001-4a53-9f10-c52a8a7d1c0e, clique 32766",
                                 "no nvidia-imex process is visible here",
                                 "0 channels in /dev/nvidia-caps-imex-channels"});

  one.surveys[0].host->driver.services.push_back("nvidia-imex");
  one.surveys[0].host->driver.device_files.push_back("/dev/nvidia-caps-imex-channels/channel0");
  CHECK(of_imex().what.kind == "imex_ready");
  CHECK(of_imex().status == CheckStatus::info);
}

TEST_CASE("a virtual machine's GPUs need no fabric manager of their own") {
  Case one = healthy_case();
  one.surveys[0].host->driver.services.clear();
  one.surveys[0].host->driver.nvswitches = 0; // the hypervisor has them

  CHECK(worst(one, "D09") == CheckStatus::ok);

  // GPUs before Hopper report no state. If links lead to switches, the check does not say that they
  // need none.
  topology::NvLink link;
  link.remote = {topology::RemoteKind::nvswitch, topology::Source::nvml};
  one.surveys[0].inventory.topology.gpus.resize(2);
  one.surveys[0].inventory.topology.gpus[0].nvlinks = {std::vector{link}, topology::Source::nvml};
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "not_supported";
  CHECK(worst(one, "D09") == CheckStatus::info);
  CHECK(what(one, "D09").kind == "nvswitches_hidden");
}

TEST_CASE("multicast is what the driver says, or unknown") {
  Case one = healthy_case();
  CHECK(what(one, "D10").kind == "multicast_supported");

  one.surveys[0].health[1].multicast = false;
  CHECK(what(one, "D10").kind == "multicast_unsupported");

  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.multicast.reset();
  CHECK(worst(one, "D10") == CheckStatus::unknown);
}
