// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ncclprobe::support {

// A loader's cache as glibc writes it: header, entries (flags, key, value, osversion, hwcap),
// strings. `before`: preceding bytes, such as the older format.
inline std::string loader_cache(const std::vector<std::string>& files,
                                const std::string& before = "") {
  std::string out = "glibc-ld.so.cache1.1";
  auto append = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(static_cast<std::uint32_t>(files.size()));
  out.append(48 - out.size(), '\0');
  auto at = static_cast<std::uint32_t>(48 + 24 * files.size());
  std::string strings;
  for (const std::string& file : files) {
    append(std::int32_t{0x303});
    append(at);
    append(at);
    append(std::uint32_t{0});
    append(std::uint64_t{0});
    at += static_cast<std::uint32_t>(file.size() + 1);
    strings += file + '\0';
  }
  return before + out + strings;
}

} // namespace ncclprobe::support
