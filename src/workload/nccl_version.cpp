// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_version.h"

#include <fmt/format.h>

#include <charconv>

namespace ncclprobe::workload {

std::optional<int> parse_nccl_version(std::string_view text) {
  int parts[3] = {};
  const char* at = text.data();
  const char* end = at + text.size();
  for (int& part : parts) {
    auto [after, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || part < 0 || part > 99)
      return std::nullopt;
    at = after;
    if (&part != &parts[2]) {
      if (at == end || *at != '.')
        return std::nullopt;
      ++at;
    }
  }
  return parts[0] * 10'000 + parts[1] * 100 + parts[2];
}

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version % 10'000 / 100, version % 100);
}

} // namespace ncclprobe::workload
