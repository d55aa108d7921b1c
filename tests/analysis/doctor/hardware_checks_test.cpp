// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D03, D08, D11 to D13, D20, D22, D24, D33.
#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "support/catch.h"
#include "topology/host_notes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::what;
using test_doctor::worst;

namespace {

struct Fault {
  const char* id;
  CheckStatus status;
  const char* kind; // of the gravest finding
  std::function<void(model::GpuHealth&)> plant;
};

} // namespace

TEST_CASE("each fault of a GPU is found, at its status, on that GPU") {
  using model::GpuHealth;
  const Fault k_faults[] = {
      {"D08", CheckStatus::fail, "compute_prohibited",
       [](GpuHealth& g) { g.compute_mode = "prohibited"; }},
      {"D08", CheckStatus::warn, "mig_on", [](GpuHealth& g) { g.mig = true; }},
      {"D08", CheckStatus::warn, "mps_shared", [](GpuHealth& g) { g.mps_clients = true; }},
      {"D08", CheckStatus::warn, "other_processes",
       [](GpuHealth& g) {
         g.processes = {{4711, "python3", 1 << 30}};
       }},
      {"D09", CheckStatus::fail, "fabric_not_joined",
       [](GpuHealth& g) { g.fabric_state = "in_progress"; }},
      {"D09", CheckStatus::fail, "fabric_not_joined", [](GpuHealth& g) { g.fabric_status = 999; }},
      {"D09", CheckStatus::fail, "fabric_unhealthy", [](GpuHealth& g) { g.fabric_health = 0b01; }},
      {"D11", CheckStatus::warn, "ecc_changes", [](GpuHealth& g) { g.ecc_on_after_reset = false; }},
      {"D11", CheckStatus::fail, "uncorrected_errors",
       [](GpuHealth& g) { g.uncorrected_since_reset = 1; }},
      {"D11", CheckStatus::warn, "corrected_errors",
       [](GpuHealth& g) { g.corrected_since_reset = 5000; }},
      {"D11", CheckStatus::fail, "remap_failed", [](GpuHealth& g) { g.remap_failed = true; }},
      {"D11", CheckStatus::warn, "remap_pending", [](GpuHealth& g) { g.remap_pending = true; }},
      {"D11", CheckStatus::warn, "retirement_pending",
       [](GpuHealth& g) { g.retirement_pending = true; }},
      {"D11", CheckStatus::info, "pages_retired", [](GpuHealth& g) { g.retired_pages = 3; }},
      {"D11", CheckStatus::fail, "pages_nearly_used_up",
       [](GpuHealth& g) { g.retired_pages = 60; }},
      {"D11", CheckStatus::warn, "nvlink_retrained",
       [](GpuHealth& g) {
         g.nvlink_errors = {{2, 0U, 1U, 0U}};
       }},
      {"D11", CheckStatus::fail, "gpu_lost", [](GpuHealth& g) { g.uuid.clear(); }},
      {"D12", CheckStatus::fail, "nvlinks_down", [](GpuHealth& g) { g.active_nvlinks = 17; }},
      {"D12", CheckStatus::warn, "pcie_narrow", [](GpuHealth& g) { g.pcie_width = 8; }},
      {"D12", CheckStatus::warn, "pcie_slow",
       [](GpuHealth& g) {
         g.pcie_generation = 1;
         g.busy_percent = 97;
         g.throttle_reasons = 0;
       }},
      {"D12", CheckStatus::info, "pcie_idle", [](GpuHealth& g) { g.pcie_generation = 1; }},
      {"D12", CheckStatus::warn, "pcie_replays", [](GpuHealth& g) { g.pcie_replays = 100'000; }},
      {"D22", CheckStatus::fail, "heat_or_power_brake",
       [](GpuHealth& g) { g.throttle_reasons = 0x40; }},
      {"D22", CheckStatus::fail, "heat_or_power_brake",
       [](GpuHealth& g) { g.throttle_reasons = 0x80; }},
      {"D22", CheckStatus::warn, "power_limit_reached",
       [](GpuHealth& g) { g.throttle_reasons = 0x4; }},
      {"D22", CheckStatus::warn, "application_clocks",
       [](GpuHealth& g) { g.throttle_reasons = 0x2; }},
      {"D22", CheckStatus::warn, "power_limit_lowered",
       [](GpuHealth& g) { g.power_limit_mw = 400'000; }},
  };
  for (const Fault& fault : k_faults) {
    Case one = healthy_case();
    CHECK(worst(one, fault.id) <= CheckStatus::info);
    fault.plant(one.surveys[0].health[1]);

    auto findings = found(one, fault.id);

    INFO(fault.id << " " << fault.kind);
    REQUIRE_FALSE(findings.empty());
    CHECK(findings.front().status == fault.status);
    CHECK(findings.front().what.kind == fault.kind);
    REQUIRE_FALSE(findings.front().evidence.empty());
    CHECK_THAT(findings.front().evidence.front(), ContainsSubstring("GPU 1 (00000000:4B:00.0)"));
  }
}

TEST_CASE("persistence mode may be off where the daemon runs") {
  Case one = healthy_case();
  one.surveys[0].health[0].persistence = false;
  CHECK(worst(one, "D33") == CheckStatus::ok);

  one.surveys[0].host->driver.services = {"nv-fabricmanager"};
  CHECK(worst(one, "D33") == CheckStatus::warn);
}

TEST_CASE("a GPU that does not answer has fallen off the bus only if the kernel's log says so") {
  Case one = healthy_case();
  one.surveys[0].health[0].uuid.clear();
  CHECK(what(one, "D11").kind == "gpu_lost");
  CHECK(diagnose(one, examine(one)).root == "D11");

  one.surveys[0].host->kernel_log.xids = {{79, "0000:4b:00", "of the other GPU"}};
  CHECK(what(one, "D11").kind == "gpu_lost");

  one.surveys[0].host->kernel_log.xids = {{79, "0000:3b:00", "of this one"}};
  CHECK(what(one, "D11").kind == "gpu_off_the_bus");
}

TEST_CASE("an idle GPU is not throttled") {
  Case one = healthy_case();
  one.surveys[0].health[0].throttle_reasons = 0x1;

  CHECK(worst(one, "D22") == CheckStatus::ok);
}

TEST_CASE("Xids in the kernel's log are graver when the hardware caused them") {
  Case one = healthy_case();
  one.surveys[0].host->kernel_log.xids = {{31, "0000:3b:00", "NVRM: Xid (PCI:0000:3b:00): 31, x"}};
  CHECK(worst(one, "D11") == CheckStatus::warn);

  one.surveys[0].host->kernel_log.xids.push_back(
      {79, "0000:3b:00", "NVRM: Xid (PCI:0000:3b:00): 79, x"});
  CHECK(worst(one, "D11") == CheckStatus::fail);
}

TEST_CASE("an Xid that the table does not have is not taken for harmless, and meanings are told") {
  Case one = healthy_case();
  model::KernelLog& log = one.surveys[0].host->kernel_log;
  log.xids = {{45, "0000:3b:00", "line of 45"}, {94, "0000:3b:00", "line of 94"}};
  CHECK(worst(one, "D11") == CheckStatus::warn);

  log.xids.push_back({99'999, "0000:3b:00", "line of the unknown one"});
  CHECK(worst(one, "D11") == CheckStatus::fail);

  log.xids.back() = {79, "0000:3b:00", "line of 79"};
  auto findings = found(one, "D11");
  CHECK(findings.front().status == CheckStatus::fail);
  CHECK_THAT(findings.front().evidence.front(),
             ContainsSubstring("FALLEN_OFF_THE_BUS") || ContainsSubstring("PREEMPTIVE_REMOVAL"));
  CHECK(findings.front().evidence.size() == 6); // three meanings, three lines
}

TEST_CASE("NVLink counters are one line a GPU, and only where they matter") {
  Case one = healthy_case();
  auto& gpus = one.surveys[0].health;
  for (model::GpuHealth& gpu : gpus) {
    gpu.nvlink_errors.clear();
    for (int link = 0; link < 18; ++link)
      gpu.nvlink_errors.push_back({link, 0U, 0U, 86U});
  }
  CHECK(worst(one, "D11") == CheckStatus::ok);

  gpus[0].nvlink_errors[4].crc_errors = 1001;
  auto crc = found(one, "D11");
  CHECK(crc.front().status == CheckStatus::info);
  REQUIRE(crc.front().evidence.size() == 1);
  CHECK_THAT(crc.front().evidence.front(),
             ContainsSubstring("0 recoveries, 0 replays, 2463 CRC errors on 18 links") &&
                 ContainsSubstring("worst: link 4 with 0 recoveries, 0 replays, 1001 CRC errors"));

  gpus[1].nvlink_errors[7] = {7, 3U, std::nullopt, std::nullopt};
  auto both = found(one, "D11");
  CHECK(both.front().evidence.size() == 2);
}

TEST_CASE("fewer NVLinks than the GPU's model has are a failure even if all GPUs agree") {
  Case one = healthy_case();
  for (model::GpuHealth& gpu : one.surveys[0].health) {
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.nvlinks = gpu.active_nvlinks = 16;
  }
  CHECK(worst(one, "D12") == CheckStatus::fail);
  CHECK_THAT(found(one, "D12").front().evidence.front(), ContainsSubstring("this model has 18"));

  for (model::GpuHealth& gpu : one.surveys[0].health) { // a card for bridges, without one
    gpu.name = "NVIDIA A100-PCIE-40GB";
    gpu.nvlinks = 12;
    gpu.active_nvlinks = 0;
    gpu.fabric_state = "not_supported";
  }
  one.surveys[0].host->driver.nvswitches = 0;
  CHECK(worst(one, "D12") == CheckStatus::unknown);
}

TEST_CASE("no NVLink up is never all NVLinks up, and the map says what the doctor says") {
  struct Known {
    const char* gpu;
    int links;
    bool mig;
    CheckStatus status;
    topology::NoteKind kind;
  };
  using enum topology::NoteKind;
  for (const Known& known : {Known{"NVIDIA H200", 18, false, CheckStatus::fail, degraded},
                             Known{"NVIDIA H200", 18, true, CheckStatus::unknown, unknown},
                             Known{"NVIDIA H200 NVL", 18, false, CheckStatus::unknown, unknown},
                             Known{"Tesla V100-SXM2-32GB", 6, false, CheckStatus::fail, degraded},
                             Known{"NVIDIA RTX A6000", 4, false, CheckStatus::unknown, unknown}}) {
    INFO(known.gpu);
    Case one = healthy_case();
    one.surveys[0].host->driver.nvswitches = 0; // a virtual machine
    topology::Host host;
    for (model::GpuHealth& health : one.surveys[0].health) {
      health.name = known.gpu;
      health.nvlinks = known.links;
      health.active_nvlinks = 0;
      health.mig = known.mig;
      health.fabric_state.clear();
      topology::Gpu& gpu = host.gpus.emplace_back();
      gpu.index = health.index;
      gpu.name = {health.name, topology::Source::nvml};
      gpu.mig_now = {known.mig, topology::Source::nvml};
      topology::NvLink down;
      down.active = {false, topology::Source::nvml};
      gpu.nvlinks = {std::vector(static_cast<std::size_t>(known.links), down),
                     topology::Source::nvml};
    }

    auto doctor = found(one, "D12").front();
    auto map = topology::host_notes(host, topology::Load::idle);

    CHECK(doctor.status == known.status);
    CHECK_THAT(doctor.evidence.front(), ContainsSubstring("0 of"));
    CHECK(std::ranges::any_of(map, [&](const topology::HostNote& finding) {
      return finding.kind == known.kind && finding.text.find("NVLinks are up") != std::string::npos;
    }));
  }
}

TEST_CASE("GPUs that share NVLinks but may not reach each other are a warning") {
  Case one = healthy_case();
  topology::Host& host = one.surveys[0].inventory.topology;
  for (int index : {0, 1}) {
    topology::Gpu gpu;
    gpu.index = index;
    host.gpus.push_back(gpu);
  }
  using topology::Source;
  host.stated_paths = {{{topology::DeviceKind::gpu, 0},
                        {topology::DeviceKind::gpu, 1},
                        {topology::PathType::nvlink, 18},
                        Source::synthetic}};
  topology::P2pCapability pair;
  pair.from = 0;
  pair.to = 1;
  pair.can_access = {true, Source::synthetic};
  host.p2p = {pair};
  CHECK(worst(one, "D12") == CheckStatus::ok);

  host.p2p[0].can_access = {false, Source::synthetic};
  CHECK(worst(one, "D12") == CheckStatus::warn);
  CHECK_THAT(found(one, "D12").front().evidence.front(), ContainsSubstring("NV18"));

  host.stated_paths[0].path = {topology::PathType::sys, 0};
  CHECK(worst(one, "D12") == CheckStatus::ok);
}

TEST_CASE("a rank that may only run far from its GPU is named") {
  using topology::Source;
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys) {
    topology::Host& host = survey.inventory.topology;
    for (int index : {0, 1}) {
      topology::NumaNode numa;
      numa.index = index;
      std::vector<int> cpus;
      for (int cpu = 0; cpu < 8; ++cpu)
        cpus.push_back(index * 8 + cpu);
      numa.cpus = {cpus, Source::synthetic};
      host.numa.push_back(numa);
      topology::Gpu gpu;
      gpu.index = index;
      gpu.bus_id = {fmt::format("0000:{}b:00.0", index + 3), Source::synthetic};
      gpu.numa_node = {index, Source::synthetic};
      gpu.cpu_affinity = {cpus, Source::synthetic};
      host.gpus.push_back(gpu);
    }
  }
  CHECK(worst(one, "D24") == CheckStatus::ok); // may run everywhere

  one.surveys[0].process.cpus_allowed = {0, 1, 2, 3};
  one.surveys[1].process.cpus_allowed = {4, 5, 6, 7};
  auto findings = found(one, "D24");
  CHECK(findings.front().status == CheckStatus::warn);
  REQUIRE(findings.front().evidence.size() == 1);
  CHECK_THAT(findings.front().evidence.front(),
             ContainsSubstring("rank 1 drives GPU 1 (NUMA node 1, CPUs 8-15) from CPUs 4-7"));
}

TEST_CASE("a log that may not be read leaves Xids unknown") {
  Case one = healthy_case();
  one.surveys[0].host->kernel_log = {"", "/dev/kmsg: Operation not permitted", {}};

  CHECK(worst(one, "D11") == CheckStatus::unknown);
}

TEST_CASE("GPUs whose health NVML does not tell are unknown, not well") {
  Case one = healthy_case();
  one.surveys[0].health.clear();
  one.surveys[0].health_problem = "NVML not found";

  CHECK(worst(one, "D11") == CheckStatus::unknown);
}

TEST_CASE("bridges that redirect traffic matter on bare metal only") {
  Case one = healthy_case();
  one.surveys[0].host->pci.bridges = {{"0000:3a:00.0", true}, {"0000:3c:00.0", std::nullopt}};
  CHECK(worst(one, "D13") == CheckStatus::warn);

  CHECK(value(what(one, "D13"), "first") == "0000:3a:00.0");

  one.surveys[0].host->pci.hypervisor = "QEMU";
  CHECK(worst(one, "D13") == CheckStatus::unknown);
}

TEST_CASE("bridges that only root may read are unknown") {
  Case one = healthy_case();
  one.surveys[0].host->pci.bridges = {{"0000:3a:00.0", std::nullopt}};
  CHECK(worst(one, "D13") == CheckStatus::unknown);

  one.surveys[0].host->pci.bridges.push_back({"0000:3c:00.0", false});
  CHECK(worst(one, "D13") == CheckStatus::unknown);
  CHECK_THAT(found(one, "D13").front().evidence.back(),
             ContainsSubstring("1 of 2 PCI bridges could not be read"));

  one.surveys[0].host->pci.bridges.clear();
  CHECK(worst(one, "D13") == CheckStatus::unknown);
}

TEST_CASE("a translating IOMMU is a warning, one in pass-through mode is not") {
  Case one = healthy_case();
  one.surveys[0].host->pci.iommu_groups = 90;
  one.surveys[0].host->pci.iommu_words = "intel_iommu=on";
  CHECK(worst(one, "D13") == CheckStatus::warn);

  one.surveys[0].host->pci.iommu_words = "intel_iommu=on iommu=pt";
  CHECK(worst(one, "D13") == CheckStatus::ok);
}

TEST_CASE("an IOMMU that is asked for and not there translates nothing") {
  Case one = healthy_case();
  one.surveys[0].host->pci.iommu_words = "intel_iommu=on";
  CHECK(worst(one, "D13") == CheckStatus::ok);
  CHECK(found(one, "D13").front().what.kind == "iommu_off");

  one.surveys[0].process.confinement.container = "/.dockerenv is there"; // and may hide it
  CHECK(worst(one, "D13") == CheckStatus::unknown);
}

TEST_CASE("an IOMMU that translates by the kernel's own default is a warning as well") {
  Case one = healthy_case();
  model::PciSurvey& pci = one.surveys[0].host->pci;
  pci.iommu_groups = 90; // and the kernel's command line is silent
  CHECK(worst(one, "D13") == CheckStatus::unknown);

  pci.device_groups = {{"identity", {"0000:3b:00.0"}}, {"DMA-FQ", {"0000:4b:00.0"}}};
  CHECK(worst(one, "D13") == CheckStatus::warn);
  CHECK_THAT(fmt::format("{}", fmt::join(found(one, "D13").front().evidence, "\n")),
             ContainsSubstring("0000:4b:00.0: IOMMU type DMA-FQ"));

  pci.device_groups[1].type = "identity";
  CHECK(worst(one, "D13") == CheckStatus::ok);
  pci.iommu_words = "intel_iommu=on"; // the groups have priority over it
  CHECK(worst(one, "D13") == CheckStatus::ok);

  pci.device_groups[1].type = "unmanaged"; // given to a virtual machine
  pci.iommu_words.clear();
  CHECK(worst(one, "D13") == CheckStatus::unknown);
}

TEST_CASE("on a host without GPUs and RDMA the IOMMU does not matter") {
  Case one = test_doctor::healthy_cpu_case();
  one.surveys[0].host->pci.iommu_groups = 90;

  CHECK(worst(one, "D13") == CheckStatus::ok);
}

TEST_CASE("GPUs that are not alike are a warning, and so is their numbering by speed") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.inventory.gpus[1].name = "NVIDIA H100 PCIe";
  CHECK(worst(one, "D03") == CheckStatus::warn);
  CHECK(worst(one, "D07") == CheckStatus::warn);

  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  CHECK(worst(one, "D07") == CheckStatus::ok);
}

TEST_CASE("a GPU without free memory is a failure, one that does not tell is unknown") {
  Case one = healthy_case();
  one.surveys[1].inventory.gpus[1].free_bytes = 1 << 20;
  CHECK(worst(one, "D20") == CheckStatus::fail);

  for (model::Survey& survey : one.surveys)
    for (model::CudaDevice& gpu : survey.inventory.gpus)
      gpu.free_bytes = 0;
  CHECK(worst(one, "D20") == CheckStatus::unknown);
}

TEST_CASE("GPUs without memory pools are named") {
  Case one = healthy_case();
  one.surveys[0].health[0].memory_pools = true;
  one.surveys[0].health[1].memory_pools = false;
  CheckResult without = found(one, "D20").front();
  CHECK(without.status == CheckStatus::warn);
  CHECK(without.what.kind == "no_memory_pools");
  REQUIRE(without.evidence.size() == 1);
  CHECK_THAT(without.evidence[0], ContainsSubstring("GPU 1 ("));
}

TEST_CASE("ranks that share too few CPUs are named") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.process.cpus_allowed = {3};

  auto findings = found(one, "D24");

  CHECK(findings.front().status == CheckStatus::warn);
  CHECK(findings.front().ranks == std::vector<int>{0, 1});
}

TEST_CASE("clocks that fall under load are found, steady ones are not") {
  Case one = healthy_case();
  one.deep = true;
  SmokeTest load{"sustained load", "nvidia", 2, {}, {one.smoke_tests[0].cells[0]}, {}};
  for (int i = 0; i < 60; ++i) {
    std::int64_t at_ns = i * 1'000'000'000LL;
    load.cells[0].conditions.push_back(
        {0, model::Condition::When::during, at_ns, 1980 - (i % 2) * 15, 2619, 60, 500'000, {}, 0});
    load.cells[0].conditions.push_back(
        {1, model::Condition::When::during, at_ns, 1980 - i * 10, 2619, 85, 700'000, {}, 0x4});
  }
  one.smoke_tests.push_back(load);

  auto findings = found(one, "D22");

  REQUIRE(findings.front().status == CheckStatus::warn);
  CHECK(findings.front().ranks == std::vector<int>{1});
  CHECK(findings.front().what.kind == "clocks_drop");
  CHECK_THAT(findings.front().evidence.front(), ContainsSubstring("software power cap"));
}

TEST_CASE("a PCIe link that stays slow under load is a failure") {
  Case one = healthy_case();
  one.under_load = {one.surveys[0]};
  CHECK(worst(one, "D12") == CheckStatus::ok);

  one.under_load[0].health[0].pcie_generation = 3;
  CHECK(worst(one, "D12") == CheckStatus::fail);
}

TEST_CASE("a command that repairs GPUs has their numbers in it") {
  Case one = healthy_case();
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.mig = true;

  REQUIRE(found(one, "D08").size() == 1);
  CHECK(value(what(one, "D08"), "gpus") == "0,1");
  one.surveys[0].health[0].mig = false;
  one.surveys[0].health[1].compute_mode = "prohibited";
  CHECK(what(one, "D08").kind == "compute_prohibited");
  CHECK(value(what(one, "D08"), "gpus") == "1");
}
