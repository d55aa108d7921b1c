// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>
#include <vector>

namespace ncclprobe::topology {

struct Merged {
  Host host;
  std::vector<std::string>
      contradictions; // "GPU 0 (0000:1b:00.0): numa_node is 0 by nvml, 1 by sysfs"
};

// One host out of what several sources say of it. GPUs and PCI devices are the same if their bus
// ids are, NICs if their names are. Each fact is the first source's that knows it; a later one that
// says otherwise is listed. GPUs keep the first source's numbers, and others get the numbers
// behind. The PCI tree's shape is the first source's that has one: sources cut it differently.
Merged merge_sources(const std::vector<Host>& sources);

} // namespace ncclprobe::topology
