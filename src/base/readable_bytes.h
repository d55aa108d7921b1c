// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ncclprobe::base {

// For amounts shown to people, rounded to at most three decimals: "6.383 GiB", "64 KiB", "1000
// bytes". format_bytes() is exact, and can be read back.
std::string readable_bytes(std::uint64_t bytes);

} // namespace ncclprobe::base
