// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/clock_envelope.h"
#include "launch/supervisor/layout.h"
#include "model/trial.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// Has the workers of this trial leave their traces where those of the run file are kept.
void keep_trace_with(const std::filesystem::path& run_file, const std::string& run_id,
                     model::TrialSpec& spec);

// After a traced trial, on each supervisor: what its workers left becomes part of the run, with how
// this host's clock stood to the leader's. What cannot be stored is logged; spools stay then.
// Returns the files of the parts. send_heartbeat() is called about once a second.
std::vector<std::string> store_traces(const Layout& layout, int supervisor, int devices_per_worker,
                                      const model::TrialSpec& spec,
                                      std::span<const ClockReading> clock,
                                      const std::function<void()>& send_heartbeat);

} // namespace ncclprobe::launch
