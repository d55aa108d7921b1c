// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ncclprobe::topology {

// CPUs of each core, as Cpu::cores has them.
using Cores = std::vector<std::vector<int>>;

// Distributes CPUs to `parts` ranks: whole cores if there are enough, else single hyperthreads,
// else all CPUs to each rank. If the cores are unknown, every range of consecutive numbers is
// divided. Linux numbers the first hyperthreads of all cores in one range and the second ones in
// another ("0-15,32-47"), so this keeps most cores whole.
std::vector<std::vector<int>> share_cpus(const std::vector<int>& cpus,
                                         const std::optional<Cores>& cores, std::size_t parts);

// How many of the cores include one of these CPUs.
std::size_t count_cores(const std::vector<int>& cpus, const Cores& cores);

} // namespace ncclprobe::topology
