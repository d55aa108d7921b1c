// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/near_cpus.h"

#include "machine/machine.h"

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/number_list.h"

namespace ncclprobe::nvidia {

NearCpus::NearCpus(const std::string& pci_bus_id, const std::string& sysfs) {
  auto name = topology::normal_bus_id(pci_bus_id);
  if (!name)
    return;
  std::string list =
      base::read_file(sysfs + "/bus/pci/devices/" + *name + "/local_cpulist").value_or("");
  while (!list.empty() && list.back() == '\n')
    list.pop_back();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  cpu_set_t near;
  CPU_ZERO(&near);
  for (int cpu : base::parse_number_list(list))
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed))
      CPU_SET(cpu, &near);
  if (CPU_COUNT(&near) > 0 && sched_setaffinity(0, sizeof near, &near) == 0)
    before_ = allowed;
}

NearCpus::~NearCpus() {
  if (before_ && sched_setaffinity(0, sizeof *before_, &*before_) != 0)
    spdlog::warn("the thread stays on the CPUs near one GPU");
}

} // namespace ncclprobe::nvidia
