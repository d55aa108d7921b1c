// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ncclprobe::base {

// For people, who are told of what is left and not of a message's size: at most three decimals,
// "6.383 GiB", "64 KiB", "1000 bytes". format_bytes() is exact, and read back.
std::string readable_bytes(std::uint64_t bytes);

} // namespace ncclprobe::base
