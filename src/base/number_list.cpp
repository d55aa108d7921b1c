// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/number_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ncclprobe::base {

std::vector<int> parse_number_list(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at != end) {
    int first = 0;
    auto [after, error] = std::from_chars(at, end, first);
    int last = first;
    if (error == std::errc{} && after != end && *after == '-') {
      auto range = std::from_chars(after + 1, end, last);
      after = range.ptr;
      error = range.ec;
    }
    bool at_comma = after != end && *after == ',';
    if (error != std::errc{} || first < 0 || last < first || last >= k_most_in_list ||
        (after != end && !at_comma) || numbers.size() > k_most_in_list)
      return {};
    for (int number = first; number <= last; ++number)
      numbers.push_back(number);
    at = at_comma ? after + 1 : after;
  }
  return numbers;
}

std::string format_number_list(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
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
