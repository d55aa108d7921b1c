// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/affinity.h"

#include "base/atomic_file.h"
#include "base/number_list.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_sets = base::k_most_in_list / CPU_SETSIZE;
constexpr std::size_t k_bytes = k_sets * sizeof(cpu_set_t);

using Sets = std::vector<cpu_set_t>;

struct Ancestor {
  std::string name;
  pid_t parent = 0; // 0 if unknown
};

Ancestor look_at(pid_t pid) {
  // Empty if the process ends meanwhile.
  const std::string text = base::read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  std::size_t name = text.find('(');
  std::size_t end = text.rfind(')'); // the name may contain parentheses
  Ancestor found;
  if (name == std::string::npos || end == std::string::npos)
    return found;
  found.name = text.substr(name + 1, end - name - 1);
  char state = 0;
  std::istringstream(text.substr(end + 1)) >> state >> found.parent;
  return found;
}

bool is_launcher(std::string_view name) {
  constexpr std::array k_names{"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
  return std::ranges::find(k_names, name) != k_names.end();
}

// The CPUs that the launcher, or its daemon on this host, may use itself. So a taskset around
// mpirun also applies to the workers. All CPUs if no ancestor is known as a launcher.
Sets before_binding() {
  Sets sets(k_sets);
  for (pid_t pid = ::getppid(); pid > 0;) {
    Ancestor ancestor = look_at(pid);
    if (is_launcher(ancestor.name) && ::sched_getaffinity(pid, k_bytes, sets.data()) == 0)
      return sets;
    pid = ancestor.parent;
  }
  std::memset(sets.data(), 0xFF, k_bytes);
  return sets;
}

} // namespace

AffinityScope::AffinityScope(Affinity affinity, const std::vector<int>& preferred) {
  if (affinity == Affinity::inherited && preferred.empty())
    return;
  std::vector<cpu_set_t> sets(k_sets);
  if (::sched_getaffinity(0, k_bytes, sets.data()) != 0)
    return;
  before_ = sets;
  if (affinity == Affinity::before_binding) {
    sets = before_binding();
    // The kernel leaves out CPUs that the cpuset of the container or batch job does not allow.
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
