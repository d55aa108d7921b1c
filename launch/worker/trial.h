// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/supervisor_link.h"

#include <map>
#include <string>

namespace ncclprobe::worker {

// Runs the trial of a Start message from opening the devices to teardown, and reports over the
// link. Throws errors that end the process; `last_cell` says where, and `board` where within it.
void run_trial(const wire::Start& start, const std::map<std::string, std::string>& environment,
               SupervisorLink& link, ProgressBoard& board, int& last_cell);

} // namespace ncclprobe::worker
