// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/printable.h"

namespace ncclprobe::base {

std::string printable(std::string_view text) {
  auto byte_at = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (byte_at(i) == 0x1B && byte_at(i + 1) == '[') { // colours and the like: up to a letter
      for (i += 2; i < text.size() && !(byte_at(i) >= 0x40 && byte_at(i) <= 0x7E);)
        ++i;
    } else if (byte_at(i) == 0xC2 && byte_at(i + 1) >= 0x80 && byte_at(i + 1) <= 0x9F) {
      out += '?'; // a control character of the second block, in UTF-8
      ++i;
    } else {
      out += byte_at(i) == '\t' ? ' ' : byte_at(i) < 0x20 || byte_at(i) == 0x7F ? '?' : text[i];
    }
  }
  return out;
}

} // namespace ncclprobe::base
