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

// Gives the calling thread that affinity for the life of this object: what it spawns keeps it. Of
// these CPUs only those in `preferred`, unless that would leave none.
class AffinityScope {
public:
  AffinityScope(Affinity affinity, const std::vector<int>& preferred);
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;
  ~AffinityScope();

private:
  std::vector<cpu_set_t> before_; // empty: nothing to give back
};

} // namespace ncclprobe::launch
