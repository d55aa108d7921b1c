// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// In the kernel's order, with their addresses. Data that only sysfs has (speed, MTU) is read below
// `root`.
std::vector<model::NetworkInterface> network_interfaces(const std::filesystem::path& root = "/");

// The addresses in /etc/hosts for this name, in the file's order.
std::vector<std::string> addresses_in_hosts_file(const std::string& name,
                                                 const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
