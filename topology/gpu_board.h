// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::topology {

enum class GpuBoard {
  unknown,
  module, // SXM, or another board with NVSwitches: its NVLinks are wired up on the board
  card,   // a PCIe card: a bridge to another card is optional
};

// What tells how a GPU is mounted. Any of it may be missing.
struct GpuBoardSigns {
  std::string name;                           // as the driver has it: "NVIDIA H200 NVL"
  std::optional<std::uint32_t> pci_device_id; // 0x233b
  std::optional<int> links;                   // NVLinks that the driver reports
  bool behind_nvswitches = false; // the host shows NVSwitches, or the GPU is part of a fabric
};

struct GpuMounting {
  GpuBoard board = GpuBoard::unknown;
  // NVLinks that every GPU of this model has in use, as published: those to NVSwitches. Modules
  // without NVSwitches may be wired up in part, cards not at all.
  std::optional<int> published_links;
  // No model that it can be has any.
  bool never_has_nvlinks = false;
};

GpuMounting gpu_mounting(const GpuBoardSigns& signs);

} // namespace ncclprobe::topology
