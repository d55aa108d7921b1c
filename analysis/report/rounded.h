// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace ncclprobe::analysis {

// Six digits: logarithms, t distributions and the like differ in their last digits from one machine
// to the next.
inline nlohmann::ordered_json rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

inline nlohmann::ordered_json rounded_ms(double ns) {
  return rounded(ns / 1e6);
}

} // namespace ncclprobe::analysis
