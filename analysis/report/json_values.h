// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace ncclprobe::analysis {

// Six digits: logarithms, t distributions and the like differ in their last digits from one machine
// to the next.
inline nlohmann::ordered_json rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

inline nlohmann::ordered_json rounded(const std::optional<double>& value) {
  return value ? rounded(*value) : nlohmann::ordered_json(nullptr);
}

template <typename T>
nlohmann::ordered_json nullable(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

// [low, high] in units of `unit`, or null.
inline nlohmann::ordered_json interval_json(const std::optional<Interval>& interval,
                                            double unit = 1) {
  return interval ? nlohmann::ordered_json{interval->low / unit, interval->high / unit}
                  : nlohmann::ordered_json(nullptr);
}

} // namespace ncclprobe::analysis
