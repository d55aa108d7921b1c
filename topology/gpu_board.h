// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::topology {

enum class GpuBoard {
  unknown,
  module, // SXM, or another board with NVSwitches: its NVLinks are wired on the board
  card,   // a PCIe card: a bridge to another card is optional
};

// The facts that show how a GPU is mounted. Any of them may be missing.
struct GpuBoardSigns {
  std::string name;                           // as the driver has it: "NVIDIA H200 NVL"
  std::optional<std::uint32_t> pci_device_id; // 0x233b
  std::optional<int> links;                   // NVLinks that the driver reports
  bool behind_nvswitches = false; // the host shows NVSwitches, or the GPU is part of a fabric
};

struct GpuMounting {
  GpuBoard board = GpuBoard::unknown;
  // The published number of NVLinks in use on every GPU of this model: those to NVSwitches. Modules
  // without NVSwitches may be wired in part, cards not at all.
  std::optional<int> published_links;
  // True if none of the possible models has NVLink.
  bool never_has_nvlinks = false;
};

GpuMounting gpu_mounting(const GpuBoardSigns& signs);

} // namespace ncclprobe::topology
