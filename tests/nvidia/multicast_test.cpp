// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/multicast.h"
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

TEST_CASE("multicast is what the driver's attribute says, of visible GPUs only") {
  auto health = three_gpus();

  nvidia::read_multicast(health, FAKE_CUDA);

  CHECK(health[0].multicast == true);
  CHECK(health[1].multicast == false);
  CHECK_FALSE(health[2].multicast);
}

TEST_CASE("without a driver multicast is unknown") {
  auto health = three_gpus();

  nvidia::read_multicast(health, "libcuda-that-is-not-there.so");

  CHECK_FALSE(health[0].multicast);
}
