// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// The error for supervisors that did not answer in time. `hosts` by rank; empty if not known yet.
Error no_answer(const std::set<int>& ranks, const std::vector<std::string>& hosts,
                std::chrono::nanoseconds patience);

} // namespace ncclprobe::launch
