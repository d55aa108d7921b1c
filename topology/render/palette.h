// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/outline.h"

#include <string_view>

// Colours of the pictures: light fills with good contrast for dark text, also for people who cannot
// distinguish red and green.
namespace ncclprobe::topology {

inline constexpr std::string_view k_nvlink_colour = "#3f7d20";

constexpr std::string_view outline_fill(OutlineNode::Kind kind) {
  switch (kind) {
  case OutlineNode::Kind::gpu:
    return "#dcefd0";
  case OutlineNode::Kind::nic:
    return "#fde7c7";
  case OutlineNode::Kind::pci_switch:
    return "#dbe7f5";
  case OutlineNode::Kind::host_bridge:
    return "#eef3fa";
  case OutlineNode::Kind::numa:
    return "#f4f4f4";
  case OutlineNode::Kind::nvswitch:
    return "#c3e3ad";
  case OutlineNode::Kind::host:
    break;
  }
  return "#ffffff";
}

constexpr std::string_view outline_stroke(OutlineNode::Kind kind) {
  switch (kind) {
  case OutlineNode::Kind::gpu:
  case OutlineNode::Kind::nvswitch:
    return k_nvlink_colour;
  case OutlineNode::Kind::nic:
    return "#b5761a";
  case OutlineNode::Kind::pci_switch:
  case OutlineNode::Kind::host_bridge:
    return "#3b6ea5";
  case OutlineNode::Kind::numa:
  case OutlineNode::Kind::host:
    break;
  }
  return "#8a8a8a";
}

} // namespace ncclprobe::topology
