// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <string>

// Small trials with the workers of tests/workers.
namespace ncclprobe::test_launch {

// Cells are all_reduce of 1K f32 with deadlines that a test can wait for.
model::TrialSpec make_spec(int ranks, int cells);
// The one rank that misbehaves, and how (MISBEHAVE=how).
model::TrialSpec make_spec(int ranks, int cells, int bad_rank, const std::string& how = "yes");

// All ranks on one host, dealt out to the supervisors in blocks.
launch::Layout make_layout(int ranks, int supervisors = 1);

// Workers that inherit `environment`, with a short stop ladder.
launch::SupervisorOptions make_options(const std::string& worker,
                                       std::vector<std::string> environment);

// One trial on a local fleet, and what was left of it.
struct LocalRun {
  model::TrialRecord record;
  std::size_t processes_left = 0;
  double seconds = 0;
};
LocalRun run_locally(const std::string& worker, const model::TrialSpec& spec,
                     int devices_per_worker = 1);

} // namespace ncclprobe::test_launch
