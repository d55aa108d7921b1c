// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/schedule.h"

#include <cstdint>

// A buffer's data is between two bands of poison, which reveal writes beyond its ends. Empty
// buffers have none.
namespace ncclprobe::worker {

// A multiple of every alignment in use (pages, also those of 64 KiB that GPUs map for others), so
// the band before the data does not change its alignment.
inline constexpr std::uint64_t k_guard_bytes = std::uint64_t{64} << 10;

constexpr std::uint64_t with_guards(std::uint64_t bytes) {
  return bytes == 0 ? 0 : bytes + 2 * k_guard_bytes;
}

inline std::uint64_t data_begin(const backend::Buffer& buffer) {
  return buffer.size_bytes() == 0 ? 0 : k_guard_bytes;
}

// The address of a rank's slice of the buffer.
inline backend::Place place_in(backend::Buffer& buffer, const model::Slice& slice, int rank) {
  return {buffer, data_begin(buffer) + slice.offset(rank)};
}

} // namespace ncclprobe::worker
