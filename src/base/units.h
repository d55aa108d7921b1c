// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The only place that defines units. Sizes are binary (1K = 1024 bytes, as in nccl-tests),
// bandwidths are decimal (1 GB/s = 1e9 bytes per second).
namespace ncclprobe::base {

// "8", "64K", "1M", "2G", "1MiB", "512B" -> bytes. invalid_argument names the text.
Result<std::uint64_t> parse_bytes(std::string_view text);

// Exact and short: 1048576 -> "1M", 1536 -> "1536", 0 -> "0". parse_bytes reads it back.
std::string format_bytes(std::uint64_t bytes);

// Message sizes: "8:8G:x2" (first:last:factor), "1M:64M:+1M" (first:last:step), "8:8G" (factor 2),
// or a comma-separated list of sizes and ranges. Ascending within a range, in the list's order,
// without duplicates. Errors: invalid_argument for bad text, first > last, factor < 2, step 0, or
// more than 10,000 sizes.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

// "90s", "500ms", "2m", "1.5h", "30" (seconds) -> nanoseconds.
Result<std::int64_t> parse_duration_ns(std::string_view text);

// For people: "11.3 us", "1.25 ms", "2 min 05 s".
std::string format_duration(double nanoseconds);

} // namespace ncclprobe::base
