// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// Variables of a process, by name.
using Environment = std::map<std::string, std::string>;

// Which job a process belongs to, and its place in it.
struct JobPlace {
  // The same on all processes and all hosts of the job.
  std::string job;
  // Empty if no other job can have that name. Otherwise, the next job may have the same name, and
  // these two distinguish it: a place that another process takes is the next job's. So two torchrun
  // agents on one host are two jobs.
  std::string place;   // "rank 3", or "host node7"
  std::string process; // who has the place: this process, or the launcher that started it
};

// From the variables of launchers. `command`: what this process is about to become; torchrun's
// arguments name its job too. Without a launcher, the job is this process alone.
JobPlace job_place(const Environment& environment, const std::vector<std::string>& command);

} // namespace ncclprobe::cli
