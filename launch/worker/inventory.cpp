// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/inventory.h"

#include "base/allowed_cpus.h"
#include "base/atomic_file.h"
#include "base/version.h"
#include "host/host_backend.h"
#include "nvidia/factory.h"
#include "topology/merge.h"
#include "topology/read/hwloc_source.h"
#include "topology/read/sysfs_source.h"

#include <sys/utsname.h>
#include <unistd.h>

namespace ncclprobe::worker {
namespace {

// The first line of a file of the form "name : value" whose name is `name`; empty if there is none.
std::string field_of(const char* path, std::string_view name) {
  std::string content = base::read_file(path).value_or("");
  for (std::size_t at = 0; at < content.size();) {
    std::size_t end = std::min(content.find('\n', at), content.size());
    std::string_view line = std::string_view(content).substr(at, end - at);
    if (line.starts_with(name)) {
      std::size_t value = line.find_first_not_of(" \t:", name.size());
      return value == std::string_view::npos ? "" : std::string(line.substr(value));
    }
    at = end + 1;
  }
  return "";
}

} // namespace

model::HostInventory take_inventory(const backend::Options& options, Gpus gpus) {
  model::HostInventory host;
  utsname system{};
  if (uname(&system) == 0) {
    host.hostname = system.nodename;
    host.kernel = std::string(system.sysname) + " " + system.release;
  }
  host.boot_id = base::read_file("/proc/sys/kernel/random/boot_id").value_or("");
  if (!host.boot_id.empty() && host.boot_id.back() == '\n')
    host.boot_id.pop_back();
  host.cpu_model = field_of("/proc/cpuinfo", "model name");
  host.cpus_allowed = static_cast<int>(base::allowed_cpus().size());
  host.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  host.worker_version = fmt::format("ncclprobe-worker {}, nvidia backend: {}",
                                    base::version_and_build(), nvidia::build_description());
  host::describe(host);
  std::vector<topology::Host> sources;
  if (gpus == Gpus::leave_alone)
    host.nvidia_problem = "not looked at";
  else
    sources = nvidia::describe(host, options,
                               gpus == Gpus::look ? nvidia::Cuda::ask : nvidia::Cuda::where_needed);
  sources.push_back(topology::sysfs_topology());
  if (auto hwloc = topology::hwloc_topology())
    sources.push_back(std::move(*hwloc));
  topology::Merged merged = topology::merge_sources(sources);
  host.topology = std::move(merged.host);
  host.contradictions.insert(host.contradictions.end(), merged.contradictions.begin(),
                             merged.contradictions.end());
  return host;
}

} // namespace ncclprobe::worker
