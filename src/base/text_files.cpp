// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/text_files.h"

#include <algorithm>
#include <fstream>

namespace ncclprobe::base {
namespace {

constexpr std::size_t k_most_bytes = std::size_t{16} << 20;
constexpr std::string_view k_blanks = " \t\r\n";

} // namespace

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[4096];
  while (text.size() < k_most_bytes && (file.read(piece, sizeof piece) || file.gcount() > 0))
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  std::size_t last = text.find_last_not_of(k_blanks);
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::string text = text_of(path);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    std::size_t start = line.find_first_not_of(k_blanks);
    if (start == std::string_view::npos)
      return words;
    line.remove_prefix(start);
    std::size_t end = std::min(line.find_first_of(k_blanks), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

} // namespace ncclprobe::base
