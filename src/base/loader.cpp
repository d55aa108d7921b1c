// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/loader.h"

#include "base/text_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace ncclprobe::base {
namespace {

namespace fs = std::filesystem;

constexpr auto k_folders = std::to_array<std::string_view>(
    {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib/x86_64-linux-gnu",
     "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"});

template <typename T>
bool read_at(std::string_view content, std::size_t at, T& into) {
  if (at > content.size() || content.size() - at < sizeof into)
    return false;
  std::memcpy(&into, content.data() + at, sizeof into);
  return true;
}

} // namespace

// sysdeps/generic/dl-cache.h of glibc. The older format may precede this one, aligned to 8.
std::vector<std::string> files_of_loader_cache(std::string_view content) {
  constexpr std::string_view k_magic = "glibc-ld.so.cache1.1";
  constexpr std::size_t k_header_bytes = 48, k_entry_bytes = 24, k_value_at = 8;
  std::vector<std::string> files;
  std::size_t start = content.find(k_magic);
  std::uint32_t count = 0;
  if (start == std::string_view::npos || !read_at(content, start + k_magic.size(), count))
    return files;
  content.remove_prefix(start); // offsets count from here
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t value = 0;
    if (!read_at(content, k_header_bytes + i * k_entry_bytes + k_value_at, value))
      return files;
    std::size_t end = content.find('\0', value);
    if (value < content.size() && end != std::string_view::npos)
      files.emplace_back(content.substr(value, end - value));
  }
  return files;
}

std::span<const std::string_view> loader_folders() {
  return k_folders;
}

bool loader_finds(const std::string& name, std::string_view ld_library_path,
                  const std::vector<fs::path>& beside, const fs::path& root) {
  auto is_there = [&](const fs::path& path) {
    std::error_code error;
    return fs::exists(path.is_absolute() ? root / path.relative_path() : path, error);
  };
  if (name.find('/') != std::string::npos)
    return is_there(name);
  std::vector<fs::path> folders(beside);
  for (std::string_view folder : k_folders)
    folders.emplace_back(folder);
  while (!ld_library_path.empty()) {
    std::string_view folder = ld_library_path.substr(0, ld_library_path.find(':'));
    folders.emplace_back(folder); // an empty entry is the current folder
    ld_library_path.remove_prefix(std::min(folder.size() + 1, ld_library_path.size()));
  }
  if (std::ranges::any_of(folders, [&](const fs::path& folder) { return is_there(folder / name); }))
    return true;
  std::vector<std::string> cached = files_of_loader_cache(text_of(root / "etc/ld.so.cache"));
  return std::ranges::any_of(cached, [&](const std::string& file) {
    return fs::path(file).filename() == name && is_there(file);
  });
}

} // namespace ncclprobe::base
