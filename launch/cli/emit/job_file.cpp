// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/emit/job_file.h"

#include <algorithm>

namespace ncclprobe::cli::job_files {
namespace {

constexpr std::string_view k_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

std::string indented(const std::string& text, const std::string& indent) {
  std::string lines;
  for (char c : text)
    lines += c == '\n' ? "\n" + indent : std::string(1, c);
  return lines;
}

std::string with_values(std::string_view line, const std::map<std::string, std::string>& values) {
  const std::string indent(line.substr(0, line.find_first_not_of(' ')));
  std::string made;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = line[at] == '@' ? line.find_first_not_of(k_letters, at + 1) : at;
    const bool named = end != std::string_view::npos && end > at + 1 && line[end] == '@';
    auto value = named ? values.find(std::string(line.substr(at + 1, end - at - 1))) : values.end();
    if (value == values.end()) {
      made += line[at++];
    } else {
      made += indented(value->second, indent);
      at = end + 1;
    }
  }
  return made;
}

} // namespace

std::string fill(std::string_view text, const Filling& filling) {
  std::string made;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    const std::size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos && line.compare(start, 2, "#?") == 0) {
      const std::size_t space = line.find(' ', start);
      if (!filling.parts.contains(line.substr(start + 2, space - start - 2)))
        continue;
      line.erase(start, space + 1 - start);
    }
    made += with_values(line, filling.values) + "\n";
  }
  return made;
}

} // namespace ncclprobe::cli::job_files
