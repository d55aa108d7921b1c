// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/fact_lists.h"

#include "base/number_list.h"

#include <fmt/format.h>

namespace ncclprobe::topology {

std::string words_of(bool value) {
  return value ? "yes" : "no";
}
std::string words_of(int value) {
  return std::to_string(value);
}
std::string words_of(double value) {
  return fmt::format("{:g}", value);
}
std::string words_of(std::uint32_t value) { // of PCI, which writes its numbers so
  return fmt::format("{:#06x}", value);
}
std::string words_of(std::uint64_t value) {
  return std::to_string(value);
}
std::string words_of(const std::string& value) {
  return value;
}
std::string words_of(const std::vector<int>& value) {
  return base::format_number_list(value);
}
std::string words_of(const std::vector<std::vector<int>>& value) {
  std::string words;
  for (const std::vector<int>& list : value)
    words += (words.empty() ? "" : " ") + base::format_number_list(list);
  return words;
}

} // namespace ncclprobe::topology
