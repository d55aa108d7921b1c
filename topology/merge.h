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

// One host, merged from several sources. GPUs and PCI devices are identified by their bus ids, NICs
// by their names. The first source that knows a fact wins; contradictions of later ones are listed.
// GPUs keep the first source's numbers; others get the numbers after them. The PCI tree's shape
// comes from the first source that has one, because sources represent it differently.
Merged merge_sources(const std::vector<Host>& sources);

} // namespace ncclprobe::topology
