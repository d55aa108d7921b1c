// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sched.h>
#include <string>

namespace ncclprobe::nvidia {

// While it exists, the calling thread runs on the CPUs near a PCI device, as far as it may. Host
// memory that it allocates is then on the device's NUMA node. Nothing changes if Linux does not
// report the node, as in many virtual machines.
class NearCpus {
public:
  explicit NearCpus(const std::string& pci_bus_id, const std::string& sysfs = "/sys");
  ~NearCpus();
  NearCpus(const NearCpus&) = delete;
  NearCpus& operator=(const NearCpus&) = delete;

private:
  std::optional<cpu_set_t> before_; // if it was changed
};

} // namespace ncclprobe::nvidia
