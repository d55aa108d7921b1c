// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/limits.h"

#include "base/text_files.h"

#include <array>

namespace ncclprobe::system {

using namespace base;

std::vector<model::Limit> limits(const std::filesystem::path& root) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> k_names{
      {{"Max locked memory", "memlock"},
       {"Max open files", "nofile"},
       {"Max stack size", "stack"},
       {"Max processes", "nproc"}}};
  std::vector<model::Limit> limits;
  for (const std::string& line : lines_of(root / "proc/self/limits"))
    for (const auto& [kernels, ours] : k_names) {
      if (!line.starts_with(kernels))
        continue;
      std::vector<std::string> words = words_of(std::string_view(line).substr(kernels.size()));
      if (words.size() < 2)
        continue;
      auto value = [](const std::string& word) { return number_of<std::uint64_t>(word); };
      bool readable = true;
      for (int i = 0; i < 2; ++i)
        readable = readable && (words[i] == "unlimited" || value(words[i]));
      if (readable)
        limits.push_back({ours, value(words[0]), value(words[1])});
    }
  return limits;
}

} // namespace ncclprobe::system
