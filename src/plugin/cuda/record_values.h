// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include <cstdint>

// Values of CUPTI's records, whatever their layout.
namespace ncclprobe::plugin {

// CUPTI's CUpti_ActivityMemcpyKind.
inline trace::CopyKind copy_kind(std::uint8_t number) {
  using trace::CopyKind;
  switch (number) {
  case 1: // host to device
  case 3: // host to array
    return CopyKind::host_to_device;
  case 2: // device to host
  case 4: // array to host
    return CopyKind::device_to_host;
  case 5: // arrays and device memory
  case 6:
  case 7:
  case 8:
    return CopyKind::device_to_device;
  case 9:
    return CopyKind::host_to_host;
  case 10:
    return CopyKind::peer;
  default:
    return CopyKind::unknown;
  }
}

// Blocks of a grid, threads of a block.
inline std::uint32_t product(std::int32_t x, std::int32_t y, std::int32_t z) {
  return static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y) *
         static_cast<std::uint32_t>(z);
}

} // namespace ncclprobe::plugin
