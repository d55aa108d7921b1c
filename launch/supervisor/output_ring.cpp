// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/output_ring.h"

#include "base/printable.h"

#include <algorithm>
#include <vector>

namespace ncclprobe::launch {
namespace {

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const base::Character one = base::character_at(text, at);
    if (one.is_safe() || text[at] == '\n' || text[at] == '\t')
      result += text.substr(at, one.bytes);
    else
      result += '?';
    at += one.bytes;
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
