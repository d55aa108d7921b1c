// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ncclprobe::workload {

// True if NCCL would use an interface of this name, given a list in the syntax of
// NCCL_SOCKET_IFNAME: "eth0,ib", "^docker", "=eth1".
bool matches_interface_list(std::string_view list, std::string_view name);

} // namespace ncclprobe::workload
