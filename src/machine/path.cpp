// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/path.h"

#include "base/text_files.h"

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
    int links = base::number_of<int>(label.substr(2)).value_or(0);
    if (links < 1 || links > k_most_links)
      return std::nullopt;
    return Path{PathType::nvlink, links};
  }
  for (const auto& [type, name] : enum_names(PathType{}))
    if (name == label)
      return Path{type, 0};
  return std::nullopt;
}

} // namespace ncclprobe::topology
