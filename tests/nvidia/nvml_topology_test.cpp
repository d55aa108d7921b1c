// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/validate.h"

#include "nvidia/nvml_topology.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;

namespace {

Host told_by(const char* library, std::vector<std::string>* complaints = nullptr) {
  backend::Options options;
  options.libraries.push_back({"nvml", library});
  std::vector<std::string> own;
  return nvidia::nvml_topology(nvidia::NvmlLibrary(options), complaints ? *complaints : own);
}

template <typename T>
Fact<T> nvml(T value) {
  return {std::move(value), Source::nvml};
}

} // namespace

TEST_CASE("NVML's answers become facts with NVML as their source") {
  Host host = told_by(FAKE_NVML);

  REQUIRE(host.gpus.size() == 3);
  const Gpu& gpu = host.gpus[0];
  CHECK(gpu.bus_id == nvml<std::string>("0000:1b:00.0"));
  CHECK(gpu.name == nvml<std::string>("NVIDIA H200"));
  CHECK(gpu.uuid == nvml<std::string>("GPU-00000000-0000-0000-0000-000000000000"));
  CHECK(gpu.vbios == nvml<std::string>("96.00.a5.00.01"));
  CHECK(gpu.compute_capability == nvml<std::string>("9.0"));
  CHECK(gpu.memory_bytes == nvml<std::uint64_t>(150754820096));
  CHECK(gpu.sm_clock_mhz.value == 345);
  CHECK(gpu.sm_clock_max_mhz.value == 1980);
  CHECK(gpu.memory_clock_max_mhz.value == 3201);
  CHECK(gpu.power_limit_w.value == 650.5);
  CHECK(gpu.power_limit_max_w.value == 700);
  CHECK(gpu.cpu_affinity.value == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 64});
  CHECK(gpu.numa_node == nvml(0));
  CHECK(host.gpus[1].numa_node == nvml(1));
  CHECK(host.driver_version == nvml<std::string>("580.0"));
  CHECK(host.cuda_driver_version == nvml<std::string>("13.0"));
  CHECK(validate({{host}}, "the fake's machine"));
}

TEST_CASE("present and pending modes are told apart, and what a GPU cannot answer is unknown") {
  Host host = told_by(FAKE_NVML);

  CHECK(host.gpus[0].ecc_now.value == true);
  CHECK(host.gpus[1].ecc_now.value == false);
  CHECK(host.gpus[1].ecc_pending.value == true);
  CHECK(host.gpus[0].mig_now.value == false);
  CHECK(host.gpus[1].mig_now.value == true);
  CHECK_FALSE(host.gpus[2].ecc_now);
  CHECK_FALSE(host.gpus[2].mig_pending);
  CHECK(host.gpus[2].fabric == Fabric{});
}

TEST_CASE("a PCIe link is told as it is and as it could be") {
  Host host = told_by(FAKE_NVML);

  const PcieLink& well = host.gpus[0].pcie;
  CHECK(well.generation_now.value == 5);
  CHECK(well.width_now.value == 16);
  const PcieLink& ill = host.gpus[1].pcie;
  CHECK(ill.generation_now.value == 1);
  CHECK(ill.generation_slot_max.value == 4);
  CHECK(ill.generation_gpu_max.value == 5);
  CHECK(ill.width_now.value == 8);
  CHECK(ill.width_slot_max.value == 16);
}

TEST_CASE("each NVLink has its state, version, rate and far end") {
  Host host = told_by(FAKE_NVML);

  REQUIRE(host.gpus[0].nvlinks);
  REQUIRE(host.gpus[0].nvlinks->size() == 18);
  const NvLink& link = host.gpus[0].nvlinks->at(6);
  CHECK(link.number == nvml(6));
  CHECK(link.active == nvml(true));
  CHECK(link.version == nvml<std::string>("4.0"));
  CHECK(link.gb_per_s == nvml(26.562));
  CHECK(link.remote == nvml(RemoteKind::nvswitch));
  CHECK(link.remote_bus_id == nvml<std::string>("0000:07:00.0"));
  REQUIRE(host.gpus[1].nvlinks->size() == 18);
  CHECK(host.gpus[1].nvlinks->at(17).active == nvml(false));
  CHECK_FALSE(host.gpus[1].nvlinks->at(17).remote);
}

TEST_CASE("a GPU without NVLink has none, which is not the same as unknown") {
  Host host = told_by(FAKE_NVML);

  CHECK(host.gpus[2].nvlinks == nvml(std::vector<NvLink>{}));
}

TEST_CASE("links between GPUs lead to the other's address; rates that the driver does not tell are "
          "unknown") {
  Host host = told_by(FAKE_NVML_BRIDGE);

  const NvLink& link = host.gpus.at(0).nvlinks->at(0);
  CHECK(link.remote == nvml(RemoteKind::gpu));
  CHECK(link.remote_bus_id == nvml<std::string>("0000:43:00.0"));
  CHECK_FALSE(link.gb_per_s);
  // As virtual machines show the far end.
  CHECK_FALSE(host.gpus.at(0).nvlinks->at(1).remote_bus_id);
}

TEST_CASE("the fabric is told with its health") {
  Host host = told_by(FAKE_NVML);

  CHECK(host.gpus[0].fabric.state == nvml<std::string>("completed"));
  CHECK(host.gpus[0].fabric.status == nvml<std::string>("success"));
  CHECK(host.gpus[0].fabric.clique == nvml(7));
  CHECK(host.gpus[0].fabric.health == nvml<std::string>("healthy"));
  CHECK_FALSE(host.gpus[0].fabric.cluster_uuid); // all zero
  CHECK(host.gpus[1].fabric.health == nvml<std::string>("bandwidth degraded"));
}

TEST_CASE("P2P and common ancestors are told for every pair") {
  Host host = told_by(FAKE_NVML);

  REQUIRE(host.p2p.size() == 6);
  CHECK(host.p2p[0].read == nvml(P2pStatus::ok));
  CHECK(host.p2p[0].atomics == nvml(P2pStatus::not_supported));
  CHECK(host.p2p[1].to == 2);
  CHECK(host.p2p[1].write == nvml(P2pStatus::chipset_not_supported));
  REQUIRE(host.stated_paths.size() == 3);
  CHECK(host.stated_paths[0].path.type == PathType::sys);
  CHECK(host.stated_paths[2].a.index == 1);
  CHECK(host.stated_paths[2].path.type == PathType::node);
  CHECK(host.stated_paths[2].source == Source::nvml);
}

TEST_CASE("a lost GPU is complained of and hides no other") {
  std::vector<std::string> complaints;
  Host host = told_by(FAKE_NVML_LOST, &complaints);

  REQUIRE(host.gpus.size() == 2);
  CHECK(host.gpus[0].index == 0);
  CHECK(host.gpus[1].index == 2); // as nvidia-smi numbers it
  CHECK(host.gpus[1].bus_id == nvml<std::string>("0000:9a:00.0"));
  REQUIRE(host.p2p.size() == 2);
  CHECK(host.p2p[0].to == 2);
  CHECK(host.stated_paths.size() == 1);
  REQUIRE(complaints.size() == 1);
  CHECK_THAT(complaints[0],
             ContainsSubstring("GPU 1: NVML counts it") && ContainsSubstring("fake"));
  CHECK(validate({{host}}, "the fake's machine"));
}

TEST_CASE("a library of an old driver tells little, and that is no error") {
  Host host = told_by(FAKE_NVML_OLD);

  CHECK(host.gpus.empty());
  CHECK(host.p2p.empty());
  CHECK(host.driver_version == nvml<std::string>("580.0"));
}
