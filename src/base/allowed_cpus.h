// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <vector>

namespace ncclprobe::base {

// CPUs that a thread (0: the calling one; a process's id: its main thread) may run on, ascending;
// empty if the thread has ended.
std::vector<int> allowed_cpus(pid_t id = 0);

} // namespace ncclprobe::base
