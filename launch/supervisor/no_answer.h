// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// "ranks 2,3 on beta, rank 4 on gamma". `hosts` by rank; empty if not known yet.
std::string name_with_hosts(const std::set<int>& ranks, const std::vector<std::string>& hosts);

// How supervisors reach each other.
enum class Network { mpi, tcp };

// The error for supervisors whose connection has ended.
Error gone(const std::set<int>& ranks, const std::vector<std::string>& hosts);

// The error for supervisors that did not answer in time.
Error no_answer(const std::set<int>& ranks, const std::vector<std::string>& hosts,
                std::chrono::nanoseconds patience, Network network);

} // namespace ncclprobe::launch
