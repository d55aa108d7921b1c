// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// The interfaces that NCCL uses for sockets, the first also for its bootstrap, by the rules of NCCL
// 2.30 (src/misc/socket.cc and src/os/linux.cc). NCCL_SOCKET_IFNAME lists prefixes of names ("^"
// excludes them, "=" compares whole names). Without it: "ib...", else all but docker, lo and virbr,
// else those in turn. Only running interfaces with an address of NCCL_SOCKET_FAMILY count.
struct InterfaceChoice {
  std::vector<const model::NetworkInterface*> interfaces; // IPv4 first; none: NCCL stops here
  std::string rule; // "NCCL_SOCKET_IFNAME=^docker", "all but docker, lo, virbr"
};
InterfaceChoice choose_interfaces(const std::vector<model::NetworkInterface>& all,
                                  const std::string& names, const std::string& family);

// The address that NCCL would bind on it.
std::string first_address(const model::NetworkInterface& one, const std::string& family);

// The interface at which others would connect to the ranks that `survey` represents. `all` are its
// host's interfaces. With the host backend Gloo decides: exactly GLOO_SOCKET_IFNAME, else the first
// interface with an IPv4 address that is reachable from other hosts.
struct BootstrapAddress {
  const model::NetworkInterface* interface = nullptr; // none: other hosts cannot reach them
  std::string address;
};
BootstrapAddress bootstrap_address(const std::vector<model::NetworkInterface>& all,
                                   const model::Survey& survey, const std::string& backend);

} // namespace ncclprobe::analysis::doctor
