// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/inference.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// Numbers as the timeline's sections write them.
namespace ncclprobe::analysis {

inline constexpr std::size_t k_most_rows = 10; // of ranks or kernels, the worst

std::string grouped(std::uint64_t number); // 12,000
std::string us(double ns);                 // two decimals below 10 us, else one
std::string percent(double part, double whole);
std::string share(std::uint64_t part, std::uint64_t whole); // "50.0% (1 of 2)"
std::string range_us(const std::optional<Interval>& interval);

} // namespace ncclprobe::analysis
