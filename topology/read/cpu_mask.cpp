// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/cpu_mask.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace ncclprobe::topology {

namespace {

constexpr std::size_t k_most_groups = 8192 / 32;

} // namespace

std::optional<std::vector<int>> parse_cpu_mask(std::string_view text) {
  std::vector<std::uint32_t> groups;
  while (true) {
    std::size_t comma = std::min(text.find(','), text.size());
    std::string_view digits = text.substr(0, comma);
    std::uint32_t bits = 0;
    const char* end = digits.data() + digits.size();
    auto [stop, error] = std::from_chars(digits.data(), end, bits, 16);
    if (digits.empty() || error != std::errc() || stop != end || groups.size() == k_most_groups)
      return std::nullopt;
    groups.push_back(bits);
    if (comma == text.size())
      break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::reverse(groups);
  std::vector<int> cpus;
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (int bit = 0; bit < 32; ++bit)
      if (groups[group] >> bit & 1U)
        cpus.push_back(static_cast<int>(group) * 32 + bit);
  return cpus;
}

std::string format_cpu_mask(const std::vector<int>& cpus) {
  std::vector<std::uint32_t> groups(1);
  for (int cpu : cpus) {
    auto group = static_cast<std::size_t>(cpu) / 32;
    if (groups.size() <= group)
      groups.resize(group + 1);
    groups[group] |= 1U << (cpu % 32);
  }
  std::ranges::reverse(groups);
  return fmt::format("{:08x}", fmt::join(groups, ","));
}

} // namespace ncclprobe::topology
