// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/affinity.h"

#include <cstring>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_sets = k_most_cpus / CPU_SETSIZE;
constexpr std::size_t k_bytes = k_sets * sizeof(cpu_set_t);

} // namespace

std::vector<int> affinity_of(pid_t pid) {
  std::vector<cpu_set_t> sets(k_sets);
  std::vector<int> cpus;
  if (::sched_getaffinity(pid, k_bytes, sets.data()) != 0)
    return cpus;
  for (int cpu = 0; cpu < k_most_cpus; ++cpu)
    if (CPU_ISSET_S(cpu, k_bytes, sets.data()))
      cpus.push_back(cpu);
  return cpus;
}

AffinityScope::AffinityScope(Affinity affinity, const std::vector<int>& preferred) {
  if (affinity == Affinity::inherited && preferred.empty())
    return;
  std::vector<cpu_set_t> sets(k_sets);
  if (::sched_getaffinity(0, k_bytes, sets.data()) != 0)
    return;
  before_ = sets;
  if (affinity == Affinity::whole_host) {
    std::memset(sets.data(), 0xFF, k_bytes);
    // The kernel leaves out what the cpuset of the container or batch job does not allow.
    ::sched_setaffinity(0, k_bytes, sets.data());
    ::sched_getaffinity(0, k_bytes, sets.data());
  }
  std::vector<cpu_set_t> chosen(k_sets);
  for (int cpu : preferred)
    if (CPU_ISSET_S(cpu, k_bytes, sets.data()))
      CPU_SET_S(cpu, k_bytes, chosen.data());
  if (CPU_COUNT_S(k_bytes, chosen.data()) > 0)
    ::sched_setaffinity(0, k_bytes, chosen.data());
}

AffinityScope::~AffinityScope() {
  if (!before_.empty())
    ::sched_setaffinity(0, k_bytes, before_.data());
}

} // namespace ncclprobe::launch
