// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Numbers in the format of the kernel's CPU lists, also used for ranks: "0-15,32-47".
namespace ncclprobe::base {

// Linux's largest number of CPUs: no list contains a larger number.
inline constexpr int k_most_in_list = 8192;

// "3" or "3-5": the first and the last. Nothing if it is no such range.
std::optional<std::pair<int, int>> parse_number_range(std::string_view text);

// In the given order; empty if it is not such a list, or repeats numbers endlessly.
std::vector<int> parse_number_list(std::string_view text);

// Ascending; two neighbours are written separately, "4,5".
std::string format_number_list(std::vector<int> numbers);

} // namespace ncclprobe::base
