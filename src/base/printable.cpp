// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/printable.h"

#include <algorithm>
#include <array>

namespace ncclprobe::base {
namespace {

struct Range {
  char32_t first, last;
};

constexpr std::array k_unsafe{
    Range{0x00, 0x1F},       Range{0x7F, 0x9F},     // control characters
    Range{0xAD, 0xAD},                              // soft hyphen
    Range{0x34F, 0x34F},                            // joins graphemes, shows nothing
    Range{0x61C, 0x61C},                            // Arabic letter mark
    Range{0x115F, 0x1160},   Range{0x17B4, 0x17B5}, // fillers and vowels that show nothing
    Range{0x180B, 0x180F},                          // Mongolian separators
    Range{0x200B, 0x200F},                          // no width, marks of direction
    Range{0x2028, 0x202E},                          // line separators, bidirectional controls
    Range{0x2060, 0x206F},                          // no width, isolates
    Range{0x3164, 0x3164},   Range{0xFFA0, 0xFFA0}, // Hangul fillers
    Range{0xFEFF, 0xFEFF},                          // byte order mark
    Range{0xFFF9, 0xFFFB},                          // annotations
    Range{0xE0000, 0xE0FFF},                        // tags and variation selectors
};

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

void append_hex(std::string& to, const char* begin, char32_t number, int digits) {
  to += begin;
  while (digits-- > 0)
    to += "0123456789abcdef"[number >> (4 * digits) & 0xF];
}

// As JSON writes it.
void append_escape(std::string& to, const Character& one) {
  if (!one.is_utf8)
    return append_hex(to, "\\x", one.code, 2);
  if (one.code < 0x10000)
    return append_hex(to, "\\u", one.code, 4);
  append_hex(to, "\\u", 0xD7C0 + (one.code >> 10), 4);
  append_hex(to, "\\u", 0xDC00 + (one.code & 0x3FF), 4);
}

// Printable ASCII is most of any output, and safe.
std::size_t end_of_plain(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= ' ' && text[at] <= '~')
    ++at;
  return at;
}

bool is_line_end(std::string_view text, std::size_t at) {
  return text[at] == '\n' || (text[at] == '\r' && byte_at(text, at + 1) == '\n');
}

} // namespace

bool Character::is_safe() const {
  return is_utf8 && std::ranges::none_of(k_unsafe, [this](const Range& range) {
           return range.first <= code && code <= range.last;
         });
}

Character character_at(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  const Character alone{1, lead, lead < 0x80};
  const std::size_t bytes = lead < 0x80         ? 1
                            : lead >> 5 == 0x06 ? 2
                            : lead >> 4 == 0x0E ? 3
                            : lead >> 3 == 0x1E ? 4
                                                : 0;
  if (bytes <= 1 || bytes > text.size() - at)
    return alone;
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const unsigned next = byte_at(text, at + i);
    if (next >> 6 != 0x02)
      return alone;
    code = code << 6 | (next & 0x3F);
  }
  constexpr std::array<char32_t, 5> k_least{0, 0, 0x80, 0x800, 0x10000}; // shorter forms exist
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < k_least[bytes] || code > 0x10FFFF || is_surrogate)
    return alone;
  return {bytes, code, true};
}

std::string escape_unsafe(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = end_of_plain(text, at);
    out += text.substr(at, plain - at);
    at = plain;
    if (at == text.size())
      break;
    const Character one = character_at(text, at);
    if (one.is_safe() || text[at] == '\t' || is_line_end(text, at))
      out += text.substr(at, one.bytes);
    else
      append_escape(out, one);
    at += one.bytes;
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\033' && byte_at(text, at + 1) == '[') { // up to a letter
      for (at += 2; at < text.size() && (byte_at(text, at) < 0x40 || byte_at(text, at) > 0x7E);)
        ++at;
      at = std::min(at + 1, text.size());
      continue;
    }
    const Character one = character_at(text, at);
    if (text[at] == '\t')
      out += ' ';
    else if (one.is_safe())
      out += text.substr(at, one.bytes);
    else
      out += '?';
    at += one.bytes;
  }
  return out;
}

} // namespace ncclprobe::base
