// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Which of Gloo's slots (message tags) each user has on one connection. Gloo's collectives take the
// high bytes 0x01 to 0x08 followed by a 32-bit tag; ours are above.
namespace ncclprobe::host {

// Tags for Gloo's collectives. Collectives of streams count from 0 to this limit and start again.
inline constexpr std::uint32_t k_first_control_tag = 0x8000'0000;
inline constexpr std::uint32_t k_barrier_tag = 0xFFFF'FFFF;
// Exchange of addresses for the n-th further mesh of a communicator.
constexpr std::uint32_t lane_tag(std::uint32_t lane) {
  return k_first_control_tag | lane;
}

// n-th message from one rank to another, as both count them.
constexpr std::uint64_t transfer_slot(std::uint64_t number) {
  return (std::uint64_t{0x40} << 56) | number;
}
// Messages of our own collectives.
constexpr std::uint64_t ring_slot(std::uint32_t sequence) {
  return (std::uint64_t{0x41} << 56) | sequence;
}

} // namespace ncclprobe::host
