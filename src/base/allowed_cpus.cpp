// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/allowed_cpus.h"

#include "base/number_list.h"

#include <sched.h>

namespace ncclprobe::base {

std::vector<int> allowed_cpus(pid_t id) {
  std::vector<cpu_set_t> sets(k_most_in_list / CPU_SETSIZE);
  const std::size_t bytes = sets.size() * sizeof(cpu_set_t);
  std::vector<int> cpus;
  if (::sched_getaffinity(id, bytes, sets.data()) != 0)
    return cpus;
  for (int cpu = 0; cpu < k_most_in_list; ++cpu)
    if (CPU_ISSET_S(cpu, bytes, sets.data()))
      cpus.push_back(cpu);
  return cpus;
}

} // namespace ncclprobe::base
