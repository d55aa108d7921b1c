// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/printable.h"

namespace ncclprobe::base {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the UTF-8 character at `at`; 0 if there is none.
std::size_t length_of_character(std::string_view text, std::size_t at) {
  unsigned lead = byte_at(text, at);
  std::size_t length = lead < 0x80                    ? 1
                       : lead >= 0xC2 && lead <= 0xDF ? 2
                       : lead >> 4 == 0x0E            ? 3
                       : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                      : 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte_at(text, at + i) >> 6 != 0x02)
      return 0;
  return length;
}

bool is_control(std::string_view character) {
  unsigned first = byte_at(character, 0);
  unsigned second = byte_at(character, 1);
  unsigned third = byte_at(character, 2);
  bool second_block = first == 0xC2 && second <= 0x9F;
  bool turns_direction = first == 0xE2 && ((second == 0x80 && third >= 0xAA && third <= 0xAE) ||
                                           (second == 0x81 && third >= 0xA6 && third <= 0xA9));
  return first < 0x20 || first == 0x7F || second_block || turns_direction;
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1B' && byte_at(text, at + 1) == '[') { // colours and the like: to a letter
      for (at += 2; at < text.size() && !(byte_at(text, at) >= 0x40 && byte_at(text, at) <= 0x7E);)
        ++at;
      ++at;
      continue;
    }
    std::size_t length = length_of_character(text, at);
    std::string_view character = text.substr(at, length);
    at += length > 0 ? length : 1;
    if (character == "\t")
      out += ' ';
    else if (length == 0 || is_control(character))
      out += '?';
    else
      out += character;
  }
  return out;
}

} // namespace ncclprobe::base
