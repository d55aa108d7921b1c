// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/source_text.h"

#include <algorithm>

namespace ncclprobe::topology {

namespace {

constexpr std::string_view k_blanks = " \t\r\n\f\v";

} // namespace

Result<void> check_text(std::string_view text, const std::string& name) {
  if (trimmed(text).empty())
    return fail_at(name, 1, "the file is empty");
  if (text.size() > k_most_file_bytes)
    return fail_at(name, 1, "{} MiB are too large for a topology file; the limit is {} MiB",
                   text.size() >> 20, k_most_file_bytes >> 20);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return fail_at(name, 1,
                   "UTF-16 text, as PowerShell writes it; convert it: iconv -f UTF-16 -t UTF-8");
  if (std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return fail_at(name, line_at(text, zero), "not a text file: it contains a zero byte");
  return {};
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view k_mark = "\xef\xbb\xbf";
  return text.starts_with(k_mark) ? text.substr(k_mark.size()) : text;
}

std::size_t line_at(std::string_view text, std::size_t position) {
  auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

std::vector<std::string> plain_lines(std::string_view text) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') {
      lines.emplace_back();
    } else if (c == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      // ESC [ parameters letter
      i += 2;
      while (i < text.size() && text[i] >= 0x20 && text[i] < 0x40)
        ++i;
      if (i < text.size() && text[i] == '\n')
        --i; // truncated: ends at the line's end
    } else if (c != '\r') {
      lines.back() += c;
    }
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  std::size_t begin = text.find_first_not_of(k_blanks);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(k_blanks) - begin + 1);
}

} // namespace ncclprobe::topology
