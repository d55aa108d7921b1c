// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/seen_transport.h"

#include "analysis/proof/nccl_log.h"
#include "base/error.h"

#include <set>
#include <vector>

namespace ncclprobe::analysis::tune {
namespace {

using workload::Transport;

struct Expected {
  std::string_view name;
  std::string_view in_log; // what NCCL's name of it begins with
};

// Where NCCL does not log it: no name.
Expected expected_of(Transport transport) {
  switch (transport) {
  case Transport::nvlink:
    return {"NVLink", "P2P"};
  case Transport::pcie:
    return {"PCIe", "P2P"};
  case Transport::shared_memory:
    return {"shared memory", "SHM"};
  case Transport::sockets:
    return {"sockets", "NET/Socket"};
  case Transport::infiniband:
    return {"InfiniBand or RoCE", "NET/IB"};
  case Transport::gloo:
  case Transport::synthetic:
  case Transport::none:
    break;
  }
  return {};
}

} // namespace

std::string unexpected_transport(const workload::TransportsInUse& expected,
                                 const model::TrialRecord& companion) {
  std::set<std::string> seen;
  for (const model::Evidence& evidence : companion.evidence)
    for (const ConnectionLine& one : read_nccl_log(evidence.log).connections)
      seen.insert(one.transport);
  if (seen.empty())
    return "";
  std::vector<std::string_view> names;
  for (Transport transport : {expected.inside_node, expected.between_nodes}) {
    const Expected one = expected_of(transport);
    if (one.name.empty())
      continue;
    names.push_back(one.name);
    std::erase_if(seen, [&](const std::string& name) { return name.starts_with(one.in_log); });
  }
  if (!names.empty() && !seen.empty())
    return fmt::format("NCCL's log shows connections by {}. The settings that were tried are those "
                       "for {}; ncclprobe doctor looks for the cause",
                       fmt::join(seen, ", "), fmt::join(names, " and "));
  return "";
}

} // namespace ncclprobe::analysis::tune
