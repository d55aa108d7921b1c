// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <map>
#include <vector>

// Paths in Host::pci. Devices are positions in that list; -1 is above all of them.
namespace ncclprobe::topology {

// -1 if the host has no such device.
int pci_position(const Host& host, const Fact<std::string>& bus_id);

// The device and all above it, the nearest first.
std::vector<int> way_up(const Host& host, int device);

struct LowestCommonAncestor {
  int common = -1;  // the lowest bridge or switch above both; -1: none
  int switches = 0; // number of switches on the path (a bridge outside a switch counts as one)
};
LowestCommonAncestor lowest_common_ancestor(const Host& host, int a, int b);

// A device's parent if every switch is one device, as in NCCL's view: with PciDetail::ports, it
// skips the lower ports of switches and the root ports.
int parent_switch(const Host& host, int device);

// The NUMA node of a device: its own, or that of its nearest parent that has one.
Fact<int> numa_of(const Host& host, int device);

inline constexpr int k_unknown_numa = -1;

// The PCI tree with every switch as one device, below NUMA nodes. From a tree of all ports, it
// keeps only GPUs, NICs and their parents.
struct SwitchTree {
  std::map<int, std::vector<int>> roots;    // NUMA node or k_unknown_numa -> devices
  std::map<int, std::vector<int>> children; // device -> devices
};
SwitchTree switch_tree(const Host& host);

// The GPU at a device of the tree; nullptr if there is none.
const Gpu* gpu_at(const Host& host, int device);

// The root above a device.
Fact<std::string> host_bridge_of(const Host& host, int device);

} // namespace ncclprobe::topology
