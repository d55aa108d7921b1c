// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/gpu_attributes.h"
#include "support/catch.h"

using namespace ncclprobe;

namespace {

std::vector<model::GpuHealth> three_gpus() {
  std::vector<model::GpuHealth> health(3);
  health[0].pci_bus_id = "00000000:1B:00.0";
  health[1].pci_bus_id = "00000000:2B:00.0";
  health[2].pci_bus_id = "00000000:3B:00.0"; // not visible to this process
  return health;
}

} // namespace

TEST_CASE("multicast and memory pools are what the driver's attributes say, of visible GPUs only") {
  auto health = three_gpus();

  nvidia::read_gpu_attributes(health, FAKE_CUDA);

  CHECK(health[0].multicast == true);
  CHECK(health[1].multicast == false);
  CHECK_FALSE(health[2].multicast);
  CHECK(health[0].memory_pools == true);
  CHECK(health[1].memory_pools == false);
  CHECK_FALSE(health[2].memory_pools);
}

TEST_CASE("without a driver they are unknown") {
  auto health = three_gpus();

  nvidia::read_gpu_attributes(health, "libcuda-that-is-not-there.so");

  CHECK_FALSE(health[0].multicast);
}
