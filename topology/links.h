// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

// The capacity of a host's links: the most that any measurement can show.
namespace ncclprobe::topology {

// The largest rate in one direction, and its reason. Unknown without `gb_per_s`.
struct Ceiling {
  std::optional<double> gb_per_s;
  std::string derivation; // "18 NVLinks x 25 GB/s"; or why it is unknown
};

// Between two GPUs of a host, by the best known path between them: their NVLinks, else the
// narrowest PCIe link on the path. Unknown for numbers other than the host's GPUs.
Ceiling ceiling(const Host& host, int gpu_a, int gpu_b);

// Between a GPU and the host's memory: its PCIe link, and the switches above it.
Ceiling host_ceiling(const Host& host, int gpu);

// The capacity of one active link: the smaller of the reported rate and the nominal rate of its
// generation. Some drivers report the signalling rate, which includes coding (26.562 for 25).
std::optional<double> nvlink_gb_per_s(const Gpu& gpu, const NvLink& link);

// 2.5, 5, 8, ... for generations 1 to 6; nothing for others.
std::optional<double> pcie_gt_per_s(int generation);
std::optional<int> pcie_generation(double gt_per_s);

// The best state of the link from a device of Host::pci towards the CPU: an idle link may run
// slower now, but not narrower.
struct PcieRate {
  std::optional<double> gt_per_s;
  std::optional<int> width;
};
PcieRate pcie_rate(const Host& host, std::size_t device);

} // namespace ncclprobe::topology
