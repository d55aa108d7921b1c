// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/nvlink_domain.h"
#include "topology/read/smi_xml.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

TEST_CASE("the XML of nvidia-smi -q -x says what its text says") {
  Host host = read_machine("two-h100.q.xml").hosts[0];

  CHECK(host.driver_version == Fact<std::string>("550.127.05", Source::nvidia_smi));
  CHECK(host.cuda_driver_version.value == "12.4");
  CHECK(host.virtual_machine.value == true);
  REQUIRE(host.gpus.size() == 2);
  const Gpu& gpu = host.gpus[0];
  CHECK(gpu.bus_id.value == "0000:1b:00.0");
  CHECK(gpu.name.value == "NVIDIA H100 80GB HBM3");
  CHECK(gpu.uuid.value == "GPU-00000000");
  CHECK(gpu.memory_bytes.value == std::uint64_t{81559} << 20);
  CHECK(gpu.ecc_now.value == true);
  CHECK(gpu.mig_now.value == false);
  CHECK(host.gpus[1].mig_now.value == true);
  CHECK(gpu.persistence.value == true);
  CHECK(gpu.pcie.generation_now.value == 1);
  CHECK(gpu.pcie.generation_gpu_max.value == 5);
  CHECK(gpu.pcie.generation_slot_max.value == 4);
  CHECK(gpu.pcie.width_now.value == 8);
  CHECK(gpu.pcie.width_slot_max.value == 16);
  CHECK(gpu.sm_clock_mhz.value == 345);
  CHECK(gpu.sm_clock_max_mhz.value == 1980);
  CHECK(gpu.memory_clock_mhz.value == 2619);
  CHECK_FALSE(gpu.memory_clock_max_mhz);
  CHECK(gpu.power_limit_w.value == 700);
  CHECK(gpu.fabric.status.value == "success");
  CHECK(nvlink_domain(gpu));
  CHECK(host.gpus[1].fabric.state.value == "in_progress");
  CHECK_FALSE(host.gpus[1].fabric.status);
  CHECK_FALSE(gpu.nvlinks);
}

TEST_CASE("bad XML of nvidia-smi is refused with file and line") {
  auto complaint_on = [](const std::string& text) {
    auto machine = read_smi_xml(text, "q.xml");
    return machine ? "" : machine.error().text();
  };

  CHECK_THAT(complaint_on("<system/>"), ContainsSubstring("q.xml:1: nvidia-smi -q -x begins with"));
  CHECK_THAT(complaint_on("<nvidia_smi_log>\n<gpu id=\"x\"/></nvidia_smi_log>"),
             ContainsSubstring("q.xml:2: <gpu id=\"x\"> does not name a GPU"));
  CHECK_THAT(complaint_on("<nvidia_smi_log>\n<gpu id=\"00000000:01:00.0\"/>"
                          "<gpu id=\"00000000:01:00.0\"/></nvidia_smi_log>"),
             ContainsSubstring("two GPUs have the bus id"));
}
