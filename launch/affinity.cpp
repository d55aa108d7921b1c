// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/affinity.h"

#include <cstring>

namespace ncclprobe::launch {
namespace {

// Enough for 8192 CPUs, the most that Linux is built for.
constexpr std::size_t k_sets = 8192 / CPU_SETSIZE;
constexpr std::size_t k_bytes = k_sets * sizeof(cpu_set_t);

} // namespace

AffinityScope::AffinityScope(Affinity affinity) {
  if (affinity == Affinity::inherited)
    return;
  std::vector<cpu_set_t> sets(k_sets);
  if (::sched_getaffinity(0, k_bytes, sets.data()) != 0)
    return;
  before_ = sets;
  std::memset(sets.data(), 0xFF, k_bytes);
  // The kernel leaves out what the cpuset of the container or batch job does not allow.
  ::sched_setaffinity(0, k_bytes, sets.data());
}

AffinityScope::~AffinityScope() {
  if (!before_.empty())
    ::sched_setaffinity(0, k_bytes, before_.data());
}

} // namespace ncclprobe::launch
