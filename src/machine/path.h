// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/fact.h"

#include <string>
#include <string_view>

// The path between two devices of one host, in the labels of `nvidia-smi topo -m`.
namespace ncclprobe::topology {

// In order of closeness.
enum class PathType {
  unknown,
  self,   // X
  nvlink, // NV#: a bonded set of # NVLinks
  pix,    // at most a single PCIe bridge (a switch counts as one)
  pxb,    // several PCIe bridges, without the host bridge
  phb,    // a PCIe host bridge, typically the CPU
  node,   // the interconnect between host bridges within a NUMA node
  sys,    // the interconnect between NUMA nodes
};

constexpr auto enum_names(PathType) {
  using E = std::pair<PathType, std::string_view>;
  return std::array{E{PathType::self, "X"},  E{PathType::nvlink, "NV"},
                    E{PathType::pix, "PIX"}, E{PathType::pxb, "PXB"},
                    E{PathType::phb, "PHB"}, E{PathType::node, "NODE"},
                    E{PathType::sys, "SYS"}, E{PathType::unknown, "unknown"}};
}

struct Path {
  PathType type = PathType::unknown;
  int nvlinks = 0; // only for type nvlink: number of links

  // "X", "NV18", "PIX", ..., "?" if unknown
  std::string label() const;
  bool operator==(const Path&) const = default;
};

// The reverse of label(); also reads "unknown". Nothing if the text is not a label.
std::optional<Path> parse_path_label(std::string_view label);

} // namespace ncclprobe::topology
