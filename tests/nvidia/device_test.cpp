// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/catch.h"

using namespace ncclprobe;

TEST_CASE("a GPU tells what goes over its links, as far as NVML does") {
  NCCLPROBE_NEEDS_GPUS(1);
  auto backend = nvidia::make_backend({});
  auto device = backend->open_device(0);

  model::Condition first, second;
  device->read_traffic(first);
  device->read_traffic(second);

  if (!first.nvlink_sent_bytes && !first.pcie_sent_mb_per_s)
    NCCLPROBE_SKIP("NVML tells nothing of this GPU's links");
  if (first.nvlink_sent_bytes)
    CHECK(second.nvlink_sent_bytes >= first.nvlink_sent_bytes);
  if (first.pcie_sent_mb_per_s)
    CHECK((*first.pcie_sent_mb_per_s >= 0 && *first.pcie_sent_mb_per_s < 200'000));
}

TEST_CASE("a GPU tells its clocks, temperature and power, within reason") {
  NCCLPROBE_NEEDS_GPUS(1);
  auto backend = nvidia::make_backend({});
  auto device = backend->open_device(0);

  auto condition = device->read_condition();

  if (!condition)
    NCCLPROBE_SKIP("NVML tells nothing of this GPU");
  if (condition->sm_clock_mhz)
    CHECK((*condition->sm_clock_mhz >= 0 && *condition->sm_clock_mhz < 10'000));
  if (condition->temperature_c)
    CHECK((*condition->temperature_c > 0 && *condition->temperature_c < 120));
  REQUIRE(condition->memory_used_bytes);
  CHECK((*condition->memory_used_bytes > 1 << 20 && *condition->memory_used_bytes < std::uint64_t{1}
                                                                                        << 40));
  if (condition->power_mw)
    CHECK((*condition->power_mw > 1'000 && *condition->power_mw < 3'000'000));
}
