// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// The interfaces that NCCL uses for sockets and for its bootstrap (the first), by its rules (NCCL
// 2.30, src/misc/socket.cc and src/os/linux.cc): with NCCL_SOCKET_IFNAME those whose name begins as
// one of the list says ("^": none of these, "=": the whole name), else "ib...", else all but
// docker, lo and virbr, else those in turn; only running ones that have an address of
// NCCL_SOCKET_FAMILY.
struct InterfaceChoice {
  std::vector<const model::NetworkInterface*> interfaces; // IPv4 first; none: NCCL stops here
  std::string rule; // "NCCL_SOCKET_IFNAME=^docker", "all but docker, lo, virbr"
};
InterfaceChoice choose_interfaces(const std::vector<model::NetworkInterface>& all,
                                  const std::string& names, const std::string& family);

// The address that NCCL would bind on it.
std::string first_address(const model::NetworkInterface& one, const std::string& family);

// Where other ranks reach those that `survey` stands for; `all` are its host's interfaces.
// With the host backend Gloo decides: GLOO_SOCKET_IFNAME to the letter, else the first with an IPv4
// address that leaves the host.
struct BootstrapAddress {
  const model::NetworkInterface* interface = nullptr; // none: nobody reaches them
  std::string address;
};
BootstrapAddress bootstrap_address(const std::vector<model::NetworkInterface>& all,
                                   const model::Survey& survey, const std::string& backend);

} // namespace ncclprobe::analysis::doctor
