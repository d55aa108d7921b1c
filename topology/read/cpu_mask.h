// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// Sets of CPUs as Linux and NCCL write them: "000000ff,ffff0000", 32 CPUs a group, the highest
// first. Nothing if it is no such mask or holds more CPUs than Linux is built for.
std::optional<std::vector<int>> parse_cpu_mask(std::string_view text);

std::string format_cpu_mask(const std::vector<int>& cpus);

} // namespace ncclprobe::topology
