// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ncclprobe::host {

// Where Linux says how much memory there is; as a container sees them.
struct MemoryFiles {
  std::string meminfo = "/proc/meminfo";
  std::string cgroup = "/sys/fs/cgroup"; // of cgroup v2
};

// How much memory may still be used: what the machine has available or, if that is less, what the
// control group's limit leaves. The largest number there is if neither is known.
std::uint64_t free_memory_bytes(const MemoryFiles& files = {});

} // namespace ncclprobe::host
