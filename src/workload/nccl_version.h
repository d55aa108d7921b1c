// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// Versions of NCCL, counted as its own macro does: 2.28.3 is 22803.
namespace ncclprobe::workload {

// The newest version whose variables are known here (nccl_variable_table.h).
inline constexpr int k_newest_known_nccl = 23102;

std::optional<int> parse_nccl_version(std::string_view text); // "2.28.3"
std::string nccl_version_text(int version);

} // namespace ncclprobe::workload
