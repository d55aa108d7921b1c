// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/output_ring.h"

#include <algorithm>
#include <vector>

namespace ncclprobe::launch {
namespace {

// Length of the UTF-8 sequence at the start of `text`; 0 if it is none.
std::size_t sequence_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t length = byte(0) < 0x80           ? 1
                       : (byte(0) >> 5) == 0x06 ? 2
                       : (byte(0) >> 4) == 0x0E ? 3
                       : (byte(0) >> 3) == 0x1E ? 4
                                                : 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF start with these.
  if (byte(0) == 0xC0 || byte(0) == 0xC1 || byte(0) > 0xF4 || length > text.size())
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
  if (length > 2) {
    unsigned lead = byte(0);
    unsigned second = byte(1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return 0;
  }
  return length;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    bool control = length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F) &&
                   text[0] != '\n' && text[0] != '\t';
    if (length == 0 || control)
      result += '?';
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

} // namespace

void OutputRing::append(std::string_view bytes) {
  if (bytes.size() > capacity_)
    bytes.remove_prefix(bytes.size() - capacity_);
  std::size_t room = std::min(capacity_ - bytes_.size(), bytes.size());
  bytes_.append(bytes.substr(0, room));
  bytes.remove_prefix(room);
  while (!bytes.empty()) { // full: overwrite the oldest
    std::size_t size = std::min(bytes.size(), capacity_ - next_);
    bytes_.replace(next_, size, bytes.substr(0, size));
    next_ = (next_ + size) % capacity_;
    bytes.remove_prefix(size);
  }
}

std::string OutputRing::tail(std::size_t size) const {
  std::string all = bytes_.substr(next_) + bytes_.substr(0, next_);
  if (all.size() > size) {
    bool at_line_start = all[all.size() - size - 1] == '\n';
    all.erase(0, all.size() - size);
    std::size_t line_end = all.find('\n');
    if (!at_line_start && line_end != std::string::npos && line_end + 1 < all.size())
      all.erase(0, line_end + 1);
  }
  return printable(all);
}

std::string last_lines(std::string_view text, int count) {
  constexpr std::size_t k_longest = 400;
  std::vector<std::string_view> lines;
  while (!text.empty() && static_cast<int>(lines.size()) < count) {
    std::size_t start = text.find_last_of('\n');
    std::string_view line = start == std::string_view::npos ? text : text.substr(start + 1);
    text.remove_suffix(start == std::string_view::npos ? text.size() : text.size() - start);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      lines.push_back(line);
  }
  std::string joined;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!joined.empty())
      joined += " | ";
    joined += *line;
  }
  if (joined.size() > k_longest)
    joined = "..." + printable(joined.substr(joined.size() - k_longest));
  return joined;
}

} // namespace ncclprobe::launch
