// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/allowed_cpus.h"
#include "launch/supervisor/affinity.h"
#include "launch/supervisor/cpu_list.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>
#include <unistd.h>

using namespace ncclprobe;
using launch::cpus_near;

namespace {

// A sysfs with one PCI device.
struct Machine {
  support::ScratchFolder sysfs;

  Machine(const std::string& node, const std::string& cpus) {
    std::filesystem::path device = sysfs / "bus/pci/devices/0000:1b:00.0";
    std::filesystem::create_directories(device);
    std::ofstream(device / "numa_node") << node << "\n";
    std::ofstream(device / "local_cpulist") << cpus << "\n";
  }
};

} // namespace

TEST_CASE("a GPU's CPUs are those of its NUMA node, however its bus id is written") {
  Machine machine("1", "4-7");

  CHECK(cpus_near("00000000:1B:00.0", machine.sysfs.path()) == std::vector<int>{4, 5, 6, 7});
  CHECK(cpus_near("0000:1b:00.0", machine.sysfs.path()) == std::vector<int>{4, 5, 6, 7});
}

TEST_CASE("a GPU without a known NUMA node has no CPUs of its own") {
  Machine machine("-1", "0-7");

  CHECK(cpus_near("00000000:1B:00.0", machine.sysfs.path()).empty());
  CHECK(cpus_near("00000000:2B:00.0", machine.sysfs.path()).empty());
  CHECK(cpus_near("", machine.sysfs.path()).empty());
}

TEST_CASE("preferred CPUs are taken within the allowed ones, and ignored if none of them is") {
  std::vector<int> before = base::allowed_cpus();
  {
    launch::AffinityScope scope(launch::Affinity::inherited, {before.back(), 8000});
    CHECK(base::allowed_cpus(::getpid()) == std::vector<int>{before.back()});
  }
  {
    launch::AffinityScope scope(launch::Affinity::inherited, {8000});
    CHECK(base::allowed_cpus() == before);
  }
  CHECK(base::allowed_cpus() == before);
}
