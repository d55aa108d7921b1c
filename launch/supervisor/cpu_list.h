// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// The CPUs of the NUMA node that a PCI device belongs to. Empty if that is not known. `bus_id` as
// CUDA and NVML write it, "00000000:1B:00.0".
std::vector<int> cpus_near(const std::string& bus_id, const std::filesystem::path& sysfs = "/sys");

// The CPUs that share a core with this one, itself among them; it alone if that is not known.
std::vector<int> core_of(int cpu, const std::filesystem::path& sysfs = "/sys");

} // namespace ncclprobe::launch
