// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

// What can go wrong with a job, and which lines of a log show it: messages of CUDA, NCCL, MPI,
// PyTorch, Gloo, containers, schedulers and the kernel.
namespace ncclprobe::knowledge {

enum class CauseSeverity { info, warn, fail };

// Where a cause stands in the order of things.
enum class CauseRole {
  cause,
  secondary, // named where no cause is certain, else it follows: "a collective did not end in time"
  wrapper,   // only passes an error on: "unhandled system error"
  consequence, // says that something else failed: "torchrun ended the job"
};

// A line that shows a cause. All expressions are RE2's.
struct LogSign {
  std::string line;
  std::string unless;  // the same line says this: then it shows nothing
  std::string with;    // shows the cause only if some line of the log says this
  std::string without; // shows the cause only if no line of the log says this
  // "SHM", "NET": shows the cause only if ranks of one host use this transport.
  std::string transport;
  bool proves = false;                   // false: the words fit other causes too
  std::optional<CauseSeverity> severity; // if not the cause's
};

struct LogCause {
  std::string id;    // "shm-too-small"
  std::string title; // "/dev/shm is too small"
  CauseRole role = CauseRole::cause;
  std::string layer; // "host", "network", "nccl"
  CauseSeverity severity = CauseSeverity::fail;
  std::vector<LogSign> signs;
  std::vector<std::string> because; // likeliest first
  std::vector<std::string> check;   // what would confirm it
  std::vector<std::string> fix;
  std::vector<std::string> avoid; // what people try and what makes it worse
  std::string note;
  std::vector<std::string> explains; // causes that follow from this one, where both are seen
  std::vector<std::string> leads_to; // likewise if seen soon after it, though it is only possible
  bool last_resort = false;          // named only for lines that show nothing else
  std::vector<std::string> sources;  // addresses
};

// All of them: those of the tables, and one for each Xid that shows nothing but itself.
const std::vector<LogCause>& log_causes();

} // namespace ncclprobe::knowledge
