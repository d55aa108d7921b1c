// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/suitability/suitability.h"

#include <string>
#include <string_view>

// Common parts of the answers about a GPU.
namespace ncclprobe::analysis {

inline constexpr int k_answer_hang = 15; // columns of a title

inline std::string version_text(const std::optional<knowledge::VersionNumber>& value) {
  return value ? value->text() : "unknown";
}

inline Value version_value(const std::optional<knowledge::VersionNumber>& value) {
  return value ? Value(value->text()) : Value();
}

inline std::string_view word(std::optional<bool> known) {
  return !known ? "unknown" : *known ? "yes" : "no";
}

// "2", "2 to 4"
inline std::string bridged_text(int gpus) {
  return gpus == 2 ? "2" : fmt::format("2 to {}", gpus);
}

// The instructions are useless on a GPU without NVLink.
inline std::optional<bool> multicast_of(const GpuInQuestion& gpu,
                                        const knowledge::GpuFeatures& features) {
  return knowledge::all_without_nvlink(gpu.models) ? std::optional(false) : features.multicast;
}

} // namespace ncclprobe::analysis
