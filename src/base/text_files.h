// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The small text files of /proc and /sys. Their readers take the root of the tree: "/", or a
// simulated one in tests. Nothing here throws: unreadable files are empty.
namespace ncclprobe::base {

// Content without trailing blanks; empty if it cannot be read. At most 16 MiB.
std::string text_of(const std::filesystem::path& path);
std::vector<std::string> lines_of(const std::filesystem::path& path);
// Names in a folder, sorted; none if it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

std::vector<std::string> words_of(std::string_view line);

// The whole text as a number.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

} // namespace ncclprobe::base
