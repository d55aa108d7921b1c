// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ncclprobe::workload {

// True if NCCL would take an interface of this name for what the list says, which is written as
// the value of NCCL_SOCKET_IFNAME: "eth0,ib", "^docker", "=eth1".
bool matches_interface_list(std::string_view list, std::string_view name);

} // namespace ncclprobe::workload
