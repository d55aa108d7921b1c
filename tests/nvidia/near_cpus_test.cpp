// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/near_cpus.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

using ncclprobe::nvidia::NearCpus;

namespace {

int cpus_now() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

int first_cpu() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &set))
    ++cpu;
  return cpu;
}

void write_list(const std::filesystem::path& sysfs, const std::string& list) {
  auto folder = sysfs / "bus/pci/devices/0000:1b:00.0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "local_cpulist") << list << "\n";
}

} // namespace

TEST_CASE("a thread goes to the CPUs near a device and comes back") {
  ncclprobe::support::ScratchFolder folder;
  int before = cpus_now();
  int cpu = first_cpu();
  write_list(folder.path(), std::to_string(cpu) + ",8000");
  {
    NearCpus near("00000000:1B:00.0", folder.path().string());
    CHECK(cpus_now() == 1);
    CHECK(first_cpu() == cpu);
  }
  CHECK(cpus_now() == before);
}

TEST_CASE("a thread stays where it is if nothing is known, or it may not go there") {
  ncclprobe::support::ScratchFolder folder;
  int before = cpus_now();
  for (const char* list : {"", "8000", "nonsense"}) {
    write_list(folder.path(), list);
    NearCpus near("0000:1b:00.0", folder.path().string());
    CHECK(cpus_now() == before);
  }
  NearCpus unknown("0000:ff:00.0", folder.path().string());
  NearCpus no_address("gpu", folder.path().string());
  CHECK(cpus_now() == before);
}
