// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D29.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::healthy_cpu_case;
using test_doctor::value;

namespace {

CheckResult chain_of(const Case& one, const std::string& feature) {
  for (CheckResult& finding : found(one, "D29"))
    if (finding.what.kind == "feature" && value(finding.what, "feature").starts_with(feature))
      return finding;
  return {};
}

} // namespace

TEST_CASE("a feature's chain breaks at the link that is missing") {
  Case one = healthy_case();
  CheckResult nvls = chain_of(one, "NVLS");
  CHECK(value(nvls.what, "state") == "unknown"); // multicast itself is never tried
  CHECK(nvls.evidence ==
        std::vector<std::string>{"NCCL >= 2.17 built with CUDA >= 12.1: unknown",
                                 "enough GPUs for the tuner to choose it (5 on H200, 6 on B200/AWS "
                                 "measured): unknown"});

  one.code = {{"/usr/lib/libnccl.so.2.28.3", {"sm_90"}, {}, "13.0"}};
  CHECK_THAT(chain_of(one, "NVLS").evidence.front(), ContainsSubstring("enough GPUs"));
  one.smoke_tests[0].algorithms = {{"AllReduce", 64 << 10, "RING", "LL", 0},
                                   {"AllReduce", 512 << 20, "NVLS", "SIMPLE", 0}};
  CHECK(value(chain_of(one, "NVLS").what, "state") == "yes");
  one.smoke_tests[0].algorithms.pop_back(); // the large message did not run
  CHECK(value(chain_of(one, "NVLS").what, "state") == "unknown");
  one.smoke_tests[0].algorithms.push_back({"AllReduce", 512 << 20, "RING", "SIMPLE", 0});
  CHECK(value(chain_of(one, "NVLS").what, "state") == "no");
  one.smoke_tests[0].algorithms = {{"AllReduce", 512 << 20, "1", "0", 0}}; // as logs had it once
  CHECK(value(chain_of(one, "NVLS").what, "state") == "unknown");
  one.smoke_tests[0].algorithms.clear();
  one.code[0].cuda = "11.8";
  CHECK(chain_of(one, "NVLS").evidence.front() == "NCCL >= 2.17 built with CUDA >= 12.1: no");
  one.code.clear();

  one.surveys[0].health[1].multicast = false;
  nvls = chain_of(one, "NVLS");
  CHECK(value(nvls.what, "state") == "no");
  CHECK(nvls.evidence.front() == "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 1: no");

  one.surveys[0].health[1].multicast.reset();
  CHECK(chain_of(one, "NVLS").evidence.front() ==
        "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 1: unknown");

  one.surveys[0].process.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  CHECK(value(chain_of(one, "NVLS").what, "state") == "no");
}

TEST_CASE("GPUDirect RDMA needs a newer NCCL where it goes by DMA-BUF") {
  Case one = healthy_case();
  auto nccl_link = [&] {
    for (const std::string& line : chain_of(one, "GPUDirect RDMA").evidence)
      if (line.starts_with("NCCL >= 2.9.8"))
        return line.substr(line.rfind(' ') + 1);
    return std::string("yes");
  };
  CHECK(nccl_link() == "yes");
  one.surveys[0].inventory.libraries[2].version = "2.10.3";
  CHECK(nccl_link() == "yes");
  one.surveys[0].host->driver.modules = {{"nvidia", "580.95.05"}}; // no nvidia_peermem
  CHECK(nccl_link() == "no");
}

TEST_CASE("what a chain needs of CUDA is asked of driver and runtime, however it is worded") {
  const auto evidence = chain_of(healthy_case(), "multi-node NVLink").evidence;

  REQUIRE_FALSE(evidence.empty());
  for (const std::string& line : evidence)
    CHECK_THAT(line, !ContainsSubstring("fabric handles"));
}

TEST_CASE("NCCL reduces FP8 on Hopper and newer only") {
  Case one = healthy_case();
  CHECK(value(chain_of(one, "fp8 reductions").what, "state") == "yes");

  for (model::Survey& survey : one.surveys)
    for (model::CudaDevice& gpu : survey.inventory.gpus)
      gpu.compute_capability = "8.0";
  CHECK(value(chain_of(one, "fp8 reductions").what, "state") == "no");
  CHECK(chain_of(one, "fp8 reductions").evidence == std::vector<std::string>{"CC >= 9.0: no"});
  CHECK(value(chain_of(one, "multi-node NVLink").what, "state") == "no");
}

TEST_CASE("a chain takes from the smoke test what was tried there") {
  Case one = healthy_case();
  CHECK(value(chain_of(one, "CUDA graph").what, "state") == "yes");

  one.smoke_tests[0].cells[3].outcome = {model::OutcomeKind::failed, "no capture", {0}};
  CHECK(value(chain_of(one, "CUDA graph").what, "state") == "no");
  one.smoke_tests[0].cells.pop_back();
  CHECK(value(chain_of(one, "CUDA graph").what, "state") == "unknown");
}

TEST_CASE("a chain takes from D13 whether bridges redirect") {
  Case one = healthy_case();
  auto redirection = [&] {
    for (const std::string& line : chain_of(one, "GPUDirect RDMA").evidence)
      if (line.starts_with("ACS off"))
        return line.substr(line.rfind(' ') + 1);
    return std::string("yes");
  };
  CHECK(redirection() == "yes");
  auto& pci = one.surveys[0].host->pci;
  pci.bridges.push_back({"0000:3c:00.0", std::nullopt});
  CHECK(redirection() == "unknown");
  pci.bridges.push_back({"0000:3d:00.0", true});
  CHECK(redirection() == "no");
  pci.hypervisor = "QEMU";
  CHECK(redirection() == "unknown");
}

TEST_CASE("a chain is as weak as the weakest host, which is named") {
  Case one = healthy_case();
  Case other = healthy_case();
  for (model::Survey& survey : other.surveys) {
    survey.inventory.hostname = "node02";
    survey.inventory.boot_id = "boot-2";
    one.surveys.push_back(survey);
  }
  CHECK(chain_of(one, "bf16").hosts == std::vector<std::string>{"node01", "node02"});
  CHECK(value(chain_of(one, "GPUDirect RDMA").what, "state") == "unknown");

  one.surveys[2].host->rdma.clear();
  CHECK(value(chain_of(one, "GPUDirect RDMA").what, "state") == "no");
  CHECK(chain_of(one, "GPUDirect RDMA").evidence.front() == "RDMA NIC visible: no on node02");

  // Two ranks a host, two GPUs a host: one more rank has none.
  one.surveys[3].ranks = {3, 4};
  CHECK(chain_of(one, "NVLS").evidence[1] == "one rank per GPU: no on node02");
}

TEST_CASE("hosts share NVLink only as members of one cluster and clique") {
  Case one = healthy_case();
  auto clique = [&] {
    for (const std::string& line : chain_of(one, "multi-node NVLink").evidence)
      if (line.starts_with("same clusterUuid"))
        return line.substr(line.rfind(' ') + 1);
    return std::string("yes");
  };
  auto& gpus = one.surveys[0].health;
  CHECK(clique() == "unknown");
  for (model::GpuHealth& gpu : gpus)
    gpu.fabric_cluster = "00000000-0000-0000-0000-000000000000";
  CHECK(clique() == "no");
  for (model::GpuHealth& gpu : gpus) {
    gpu.fabric_cluster = "7d3b24a4-0001-4a53-9f10-c52a8a7d1c0e";
    gpu.fabric_clique = 1;
  }
  CHECK(clique() == "yes");
  gpus[1].fabric_clique = 2;
  CHECK(clique() == "no");
}

TEST_CASE("a host without GPUs has no feature chains") {
  CHECK(found(healthy_cpu_case(), "D29").empty());
}
