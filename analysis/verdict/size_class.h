// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ncclprobe::analysis {

// Classes of sizes that behave alike in tuning: latency-bound (to 64K), in between (to 4M),
// bandwidth-bound. Their noise differs by orders of magnitude.
inline constexpr int k_size_classes = 3;
constexpr int size_class(std::uint64_t bytes) {
  return bytes <= std::uint64_t{64} << 10 ? 0 : bytes <= std::uint64_t{4} << 20 ? 1 : 2;
}

} // namespace ncclprobe::analysis
