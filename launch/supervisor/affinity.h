// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <vector>

namespace ncclprobe::launch {

// Which CPUs a child may use. mpirun binds its ranks (with two ranks, each to one core), and a
// child inherits that.
enum class Affinity {
  inherited,
  before_binding, // what mpirun itself may use, and the container or batch system allows
};

// Gives the calling thread that affinity while this object lives; processes that it spawns keep it.
// Of these CPUs only those in `preferred`, unless none would be left.
class AffinityScope {
public:
  AffinityScope(Affinity affinity, const std::vector<int>& preferred);
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;
  ~AffinityScope();

private:
  std::vector<cpu_set_t> before_; // empty: nothing to restore
};

} // namespace ncclprobe::launch
