// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/number_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ncclprobe::base {

std::optional<std::pair<int, int>> parse_number_range(std::string_view text) {
  const char* end = text.data() + text.size();
  int first = 0;
  auto [after, error] = std::from_chars(text.data(), end, first);
  int last = first;
  if (error == std::errc{} && after != end && *after == '-') {
    auto range = std::from_chars(after + 1, end, last);
    after = range.ptr;
    error = range.ec;
  }
  if (error != std::errc{} || after != end || first < 0 || last < first)
    return std::nullopt;
  return std::pair(first, last);
}

std::vector<int> parse_number_list(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto range = parse_number_range(text.substr(0, comma));
    if (!range || range->second >= k_most_in_list || numbers.size() > k_most_in_list)
      return {};
    for (int number = range->first; number <= range->second; ++number)
      numbers.push_back(number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

std::string format_number_list(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i)
      text += fmt::format("{}{}", last > i + 1 ? "-" : ",", numbers[last]);
    i = last + 1;
  }
  return text;
}

} // namespace ncclprobe::base
