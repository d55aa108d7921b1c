// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/readable_bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ncclprobe::base {

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> k_units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // A value that would round up to 1024 uses the next unit.
  for (; unit + 1 < k_units.size() && std::round(value * 1000) >= 1024 * 1000; ++unit)
    value /= 1024;
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text + " " + k_units[unit];
}

} // namespace ncclprobe::base
