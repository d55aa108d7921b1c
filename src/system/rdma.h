// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Ports of InfiniBand and RoCE adapters, by <root>/sys/class/infiniband.
std::vector<model::RdmaPort> rdma_ports(const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
