// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/schedule.h"

#include <cstdint>

// A buffer's data lie between two bands of poison, which show what was written beyond its ends.
// Buffers of no bytes have none.
namespace ncclprobe::worker {

// A multiple of what data are aligned to anywhere (pages, also those of 64 KiB that GPUs map for
// others), so that the band before them does not change how they are aligned.
inline constexpr std::uint64_t k_guard_bytes = std::uint64_t{64} << 10;

constexpr std::uint64_t with_guards(std::uint64_t bytes) {
  return bytes == 0 ? 0 : bytes + 2 * k_guard_bytes;
}

inline std::uint64_t data_begin(const backend::Buffer& buffer) {
  return buffer.size_bytes() == 0 ? 0 : k_guard_bytes;
}

// Where a rank's slice of the buffer is.
inline backend::Place place_in(backend::Buffer& buffer, const model::Slice& slice, int rank) {
  return {buffer, data_begin(buffer) + slice.offset(rank)};
}

} // namespace ncclprobe::worker
