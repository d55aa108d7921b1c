// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// How a path is known.
struct FoundPath {
  Path path;
  Source source = Source::none; // derived: found here from the PCI tree, NUMA nodes and NVLinks
  std::string why;              // one line, for people
  // Nobody looked for NVLinks: the label is that of the PCIe path, and there may be a better one.
  bool nvlinks_unknown = false;
  // NCCL's files do not tell the host bridges of a NUMA node apart: a PHB of theirs may be a NODE.
  bool host_bridges_unknown = false;

  // Its label, and what else it may be: "NV18", "PHB or NODE".
  std::string text() const;
};

// The way between two devices of a host, as nvidia-smi and NCCL label it. NVLinks first, then what
// a source stated, then the PCI tree and NUMA nodes. Unknown if what lies between is hidden, as in
// virtual machines.
FoundPath path_between(const Host& host, DeviceRef a, DeviceRef b);

// How many NVLinks two GPUs reach each other by: directly, or through NVSwitches (then the lesser
// of the two GPUs' links). Nothing if that is not known.
std::optional<int> nvlinks_between(const Gpu& a, const Gpu& b);

// Whether a matrix of nvidia-smi has the GPU: it shows NVLinks without listing them.
bool stated_in_matrix(const Host& host, const Gpu& gpu);

// True if nobody looked for NVLinks between two GPUs, or nobody knows where they lead, so that
// there may be a faster way than the one `found` between them. A matrix of nvidia-smi would show
// it.
bool nvlinks_untold(const Gpu& a, const Gpu& b, const FoundPath& found);

// Its NVLinks that are up. Nothing if nobody looked.
std::optional<int> active_nvlinks(const Gpu& gpu);

} // namespace ncclprobe::topology
