// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"
#include "model/inventory.h"
#include "workload/nccl_selection.h"

#include <string>
#include <vector>

// The way that most data takes, as NCCL chooses it by default, from what is known before anything
// runs. NCCL's log shows what it really chose.
namespace ncclprobe::workload {

enum class Transport {
  none, // no data between ranks takes it
  nvlink,
  pcie, // GPU to GPU over PCIe
  shared_memory,
  sockets,
  infiniband, // or RoCE
  gloo,
  synthetic,
};

struct TransportsInUse {
  Transport inside_node = Transport::none;
  Transport between_nodes = Transport::none;
  // Why, for people: "all GPUs have NVLinks". One for each of the two that is not `none`.
  std::vector<std::string> reasons;
};

// `environment`: variables that every rank has. `machine`: as for the rules of NCCL_ALGO; 0 nodes
// (not known, NCCL_HOSTID) counts as several.
TransportsInUse transports_in_use(const std::string& backend,
                                  const std::vector<model::HostInventory>& hosts,
                                  const MachineShape& machine, const Variables& environment);

} // namespace ncclprobe::workload
