// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "topology/nvlink_bundles.h"

#include <string>
#include <vector>

// The contents of the tree and the pictures for a host, independent of their form.
namespace ncclprobe::topology {

struct OutlineNode {
  enum class Kind { host, numa, host_bridge, pci_switch, gpu, nic, nvswitch };
  Kind kind = Kind::host;
  std::string id;                   // "gpu0", unique within the host
  std::string title;                // "GPU0 NVIDIA H200"
  std::vector<std::string> details; // short, the most important first
  std::vector<OutlineNode> children;
};

struct Outline {
  OutlineNode root;
  std::vector<NvlinkBundle> nvlinks;
  std::vector<std::string> remarks; // what is unknown
  std::string sources;              // "GPUs: nvml; PCI tree: sysfs"
};

// Host, NUMA nodes, host bridges if known, switches, and GPUs and NICs as leaves.
Outline outline_of(const Host& host, std::size_t position);

} // namespace ncclprobe::topology
