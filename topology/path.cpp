// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/path.h"

#include <charconv>

namespace ncclprobe::topology {

std::string Path::label() const {
  if (type == PathType::unknown)
    return "?";
  std::string text(to_string(type));
  return type == PathType::nvlink ? text + std::to_string(nvlinks) : text;
}

std::optional<Path> parse_path_label(std::string_view label) {
  constexpr int k_most_links = 256;
  if (label == "?")
    return Path{};
  if (label.starts_with("NV")) {
    Path path{PathType::nvlink, 0};
    const char* end = label.data() + label.size();
    auto [stop, error] = std::from_chars(label.data() + 2, end, path.nvlinks);
    if (error != std::errc() || stop != end || path.nvlinks < 1 || path.nvlinks > k_most_links)
      return std::nullopt;
    return path;
  }
  for (const auto& [type, name] : enum_names(PathType{}))
    if (name == label)
      return Path{type, 0};
  return std::nullopt;
}

} // namespace ncclprobe::topology
