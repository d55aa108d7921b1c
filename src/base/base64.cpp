// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/base64.h"

#include <cstdint>

namespace ncclprobe::base {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view k_digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 |
              (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : std::uint8_t{0});
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i > bytes.size() ? '=' : k_digits[group >> (18 - 6 * i) & 63];
  }
  return out;
}

} // namespace ncclprobe::base
