// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ncclprobe::launch {

// The CPUs of the NUMA node that a PCI device belongs to. Empty if that is not known. `bus_id` as
// CUDA and NVML write it, "00000000:1B:00.0".
std::vector<int> cpus_near(const std::string& bus_id, const std::filesystem::path& sysfs = "/sys");

// What a living process may run on, as a list; empty if it is gone.
std::string allowed_cpus(pid_t pid);

} // namespace ncclprobe::launch
