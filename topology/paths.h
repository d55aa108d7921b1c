// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// How a path was found.
struct FoundPath {
  Path path;
  Source source = Source::none; // derived: from the PCI tree, NUMA nodes and NVLinks
  std::string why;              // one line, for people
  // No source describes NVLinks: the label is the PCIe path's, and there may be a better path.
  bool nvlinks_unknown = false;
  // NCCL's files do not distinguish the host bridges of a NUMA node: their PHB may be a NODE.
  bool host_bridges_unknown = false;

  // Its label, and the alternative if any: "NV18", "PHB or NODE".
  std::string text() const;
};

// The path between two devices of a host, labelled as by nvidia-smi and NCCL. NVLinks have
// priority, then a path that a source states, then the PCI tree and NUMA nodes. Unknown if the
// devices between are hidden, as in virtual machines.
FoundPath path_between(const Host& host, DeviceRef a, DeviceRef b);

// How many NVLinks connect two GPUs: directly, or through NVSwitches (then the smaller number of
// the two GPUs). Nothing if that is unknown.
std::optional<int> nvlinks_between(const Gpu& a, const Gpu& b);

// Whether an nvidia-smi matrix contains the GPU: it shows NVLinks without listing them.
bool stated_in_matrix(const Host& host, const Gpu& gpu);

// True if no source describes NVLinks between two GPUs, or if their far ends are unknown. Then
// there may be a faster path than `found`. An nvidia-smi matrix would show it.
bool nvlinks_untold(const Gpu& a, const Gpu& b, const FoundPath& found);

// Its active NVLinks. Nothing if no source describes them.
std::optional<int> active_nvlinks(const Gpu& gpu);

} // namespace ncclprobe::topology
