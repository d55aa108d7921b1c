// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Numbers as the kernel lists CPUs and as people list ranks: "0-15,32-47".
namespace ncclprobe::base {

// The most CPUs that Linux is built for: no list holds a greater number.
inline constexpr int k_most_in_list = 8192;

// "3" or "3-5": the first and the last. Nothing if it is no such range.
std::optional<std::pair<int, int>> parse_number_range(std::string_view text);

// In the order given; empty if it is no such list, or one that says the same over and over.
std::vector<int> parse_number_list(std::string_view text);

// Ascending; two neighbours stay apart, "4,5".
std::string format_number_list(std::vector<int> numbers);

} // namespace ncclprobe::base
