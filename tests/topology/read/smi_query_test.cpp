// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/read/smi_query.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

TEST_CASE("the full query of a recorded GPU gives what it says, and nothing for N/A") {
  Host host = read_machine("h200-vm.q.txt").hosts[0];

  CHECK(host.driver_version == Fact<std::string>("580.159.04", Source::nvidia_smi));
  CHECK(host.cuda_driver_version.value == "13.0");
  CHECK(host.virtual_machine.value == true);
  REQUIRE_FALSE(host.gpus.empty());
  const Gpu& gpu = host.gpus[0];
  CHECK(gpu.bus_id.value == "0000:00:06.0");
  CHECK(gpu.name.value == "NVIDIA H200");
  CHECK(gpu.vbios.value == "96.00.A5.00.1A");
  CHECK(gpu.memory_bytes.value == 143771ULL << 20);
  CHECK(gpu.ecc_now.value == true);
  CHECK(gpu.ecc_pending.value == true);
  CHECK(gpu.mig_now.value == false);
  CHECK(gpu.persistence.value == true);
  CHECK(gpu.pcie.generation_now.value == 5);
  CHECK(gpu.pcie.generation_gpu_max.value == 5);
  CHECK(gpu.pcie.width_now.value == 16);
  CHECK(gpu.sm_clock_mhz.value == 345);
  CHECK(gpu.sm_clock_max_mhz.value == 1980);
  CHECK(gpu.memory_clock_mhz.value == 3201);
  CHECK(gpu.power_limit_w.value == 700);
  CHECK(gpu.fabric.state.value == "completed");
  CHECK(gpu.fabric.status.value == "success");
  CHECK(gpu.fabric.clique.value == 0);
  CHECK_FALSE(gpu.fabric.health);
  CHECK_FALSE(gpu.nvlinks);
}

TEST_CASE("the link list of a recorded GPU gives rates, not where links lead") {
  Host host = read_machine("h200-vm.nvlink-s.txt").hosts[0];

  REQUIRE(host.gpus[0].nvlinks->size() == 18);
  const NvLink& link = host.gpus[0].nvlinks->at(17);
  CHECK(link.number.value == 17);
  CHECK(link.active.value == true);
  CHECK(link.gb_per_s.value == 26.562);
  CHECK_FALSE(link.remote);
}

TEST_CASE("links that are down and the UUID behind a name are understood") {
  auto machine = read_smi_nvlink("GPU 0: Tesla V100 (UUID: GPU-1234)\n\t Link 0: 25.781 GB/s\n"
                                 "\t Link 1: <inactive>\nGPU 1: Tesla T4\n",
                                 "s.txt");

  REQUIRE(machine);
  const Host& host = machine->hosts[0];
  CHECK(host.gpus[0].name.value == "Tesla V100");
  CHECK(host.gpus[0].uuid.value == "GPU-1234");
  CHECK(host.gpus[0].nvlinks->at(1).active.value == false);
  CHECK(host.gpus[1].nvlinks->empty());
}

TEST_CASE("a list of GPUs alone does not say that they have no links") {
  auto machine = read_smi_nvlink("GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: Tesla T4\n", "l.txt");

  REQUIRE(machine);
  CHECK_FALSE(machine->hosts[0].gpus[0].nvlinks);
  CHECK(machine->hosts[0].gpus[1].nvlinks.source == Source::derived); // by what its model has
}

TEST_CASE("bad link lists are refused with file and line") {
  auto complaint_on = [](const std::string& text) {
    auto machine = read_smi_nvlink(text, "s.txt");
    return machine ? "" : machine.error().text();
  };

  CHECK_THAT(complaint_on("Link 0: 25 GB/s\n"), ContainsSubstring("s.txt:1: a link before"));
  CHECK_THAT(complaint_on("GPU 0: x\nGPU 0: x\n"), ContainsSubstring("s.txt:2: GPU 0 a second"));
  CHECK_THAT(complaint_on("GPU 0: x\nLink 0: fast\n"),
             ContainsSubstring("s.txt:2: 'fast' is neither a rate nor <inactive>"));
  CHECK_THAT(complaint_on("GPU 0: x\nLink 0: 1 GB/s\nLink 0: 1 GB/s\n"),
             ContainsSubstring("s.txt:3: link 0 a second time"));
  CHECK_THAT(complaint_on("nothing\n"), ContainsSubstring("s.txt:1: no line such as"));
}

TEST_CASE("bad queries are refused with file and line") {
  auto complaint_on = [](const std::string& text) {
    auto machine = read_smi_query(text, "q.txt");
    return machine ? "" : machine.error().text();
  };

  CHECK_THAT(complaint_on("GPU nowhere\n"), ContainsSubstring("q.txt:1: 'GPU nowhere'"));
  CHECK_THAT(complaint_on("nothing\n"), ContainsSubstring("q.txt:1: no 'NVSMI LOG'"));
  CHECK_THAT(complaint_on("GPU 00000000:01:00.0\nGPU 00000000:01:00.0\n"),
             ContainsSubstring("q.txt:1: two GPUs have the bus id 0000:01:00.0"));
}
