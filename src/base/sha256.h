// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

inline constexpr std::size_t k_sha256_digits = 64;

// In hexadecimal digits.
std::string sha256(std::string_view bytes);

// HMAC-SHA-256 in hexadecimal digits: proves that its maker knows the key, without showing it.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

} // namespace ncclprobe::base
