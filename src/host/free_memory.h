// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ncclprobe::host {

// The files in which Linux reports memory, as a container sees them.
struct MemoryFiles {
  std::string meminfo = "/proc/meminfo";
  std::string cgroup = "/sys/fs/cgroup"; // of cgroup v2
};

// How much memory is still available: the machine's, or the rest of the control group's limit if
// that is less. The largest number of the type if neither is known.
std::uint64_t free_memory_bytes(const MemoryFiles& files = {});

} // namespace ncclprobe::host
