// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/transport_in_use.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

using model::HostInventory;

bool is_on(const Variables& environment, const std::string& name) {
  auto found = environment.find(name);
  return found != environment.end() && read_integer(found->second).value != 0;
}

bool has_nvlinks(const HostInventory& host) {
  return !host.gpus.empty() && std::ranges::all_of(host.gpus, [](const model::CudaDevice& gpu) {
    return gpu.nvlinks.value_or(0) > 0;
  });
}

// Some GPU cannot reach another one's memory.
bool lacks_peer_access(const HostInventory& host) {
  return std::ranges::any_of(host.topology.p2p, [](const topology::P2pCapability& pair) {
    return !pair.can_access.value_or(true);
  });
}

bool is_rdma(const topology::Nic& nic) {
  return (nic.kind.value == topology::NicKind::infiniband ||
          nic.kind.value == topology::NicKind::roce) &&
         nic.up.value_or(true);
}

bool has_rdma(const HostInventory& host) {
  return std::ranges::any_of(host.topology.nics, is_rdma);
}

Transport network(const std::vector<HostInventory>& hosts, const Variables& environment,
                  std::vector<std::string>& reasons) {
  auto chosen = environment.find("NCCL_NET");
  if (chosen != environment.end() && chosen->second == "Socket") {
    reasons.emplace_back("NCCL_NET=Socket");
    return Transport::sockets;
  }
  if (is_on(environment, "NCCL_IB_DISABLE")) {
    reasons.emplace_back("NCCL_IB_DISABLE is set");
    return Transport::sockets;
  }
  const bool all_have_rdma = !hosts.empty() && std::ranges::all_of(hosts, has_rdma);
  reasons.emplace_back(all_have_rdma ? "all hosts have InfiniBand or RoCE adapters"
                                     : "not all hosts have InfiniBand or RoCE adapters");
  return all_have_rdma ? Transport::infiniband : Transport::sockets;
}

Transport inside_a_node(const std::vector<HostInventory>& hosts, const Variables& environment,
                        std::vector<std::string>& reasons) {
  auto level = environment.find("NCCL_P2P_LEVEL");
  const bool no_p2p = is_on(environment, "NCCL_P2P_DISABLE") ||
                      (level != environment.end() && level->second == "LOC");
  if (no_p2p && is_on(environment, "NCCL_SHM_DISABLE"))
    return network(hosts, environment, reasons);
  if (no_p2p) {
    reasons.emplace_back("the environment switches P2P off");
    return Transport::shared_memory;
  }
  if (std::ranges::all_of(hosts, has_nvlinks)) {
    reasons.emplace_back("all GPUs have NVLinks");
    return Transport::nvlink;
  }
  if (std::ranges::any_of(hosts, lacks_peer_access)) {
    reasons.emplace_back("some GPUs cannot reach each other's memory");
    return Transport::shared_memory;
  }
  reasons.emplace_back("not all GPUs have NVLinks");
  return Transport::pcie;
}

} // namespace

TransportsInUse transports_in_use(const std::string& backend,
                                  const std::vector<HostInventory>& hosts,
                                  const MachineShape& machine, const Variables& environment) {
  TransportsInUse used;
  if (backend == "host" || backend == "synthetic") {
    used.inside_node = backend == "host" ? Transport::gloo : Transport::synthetic;
    used.reasons.push_back("the " + backend + " backend");
    return used;
  }
  if (machine.nodes != 1)
    used.between_nodes = network(hosts, environment, used.reasons);
  if (machine.ranks_per_node != 1)
    used.inside_node = inside_a_node(hosts, environment, used.reasons);
  return used;
}

} // namespace ncclprobe::workload
