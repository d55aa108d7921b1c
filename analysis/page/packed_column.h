// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Numbers for a page: all lowest bytes, then all second ones, ...; as zlib (RFC 1950) in Base64. A
// browser unpacks it with DecompressionStream("deflate"). Throws std::bad_alloc.
std::string packed_column(const std::vector<std::uint32_t>& values);

} // namespace ncclprobe::analysis
