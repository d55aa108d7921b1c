// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// Sets of CPUs in the syntax of Linux and NCCL: "000000ff,ffff0000", 32 CPUs per group, the highest
// first. Nothing if it is not such a mask or holds more CPUs than Linux supports.
std::optional<std::vector<int>> parse_cpu_mask(std::string_view text);

std::string format_cpu_mask(const std::vector<int>& cpus);

} // namespace ncclprobe::topology
