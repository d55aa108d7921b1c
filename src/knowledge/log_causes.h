// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What can go wrong with a job, and which log lines show it: messages of CUDA, NCCL, MPI, PyTorch,
// Gloo, containers, schedulers and the kernel.
namespace ncclprobe::knowledge {

enum class CauseSeverity { info, warn, fail };

// Whether a cause can be the root of a failure.
enum class CauseRole {
  cause,
  secondary,   // named if no cause is certain, else a consequence: "a collective did not finish in
               // time"
  wrapper,     // only passes an error on: "unhandled system error"
  consequence, // reports that something else failed: "torchrun ended the job"
};

// A line that shows a cause. All expressions are RE2's.
struct LogSign {
  std::string line;
  std::string unless;  // the same line says this: then it shows nothing
  std::string with;    // shows the cause only if some line of the log says this
  std::string without; // shows the cause only if no line of the log says this
  // "SHM", "NET": shows the cause only if ranks on one host communicate this way.
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
  std::vector<std::string> avoid; // what people try although it makes things worse
  std::string note;
  std::vector<std::string> explains; // causes that follow from this one, if both are seen
  std::vector<std::string>
      leads_to;                     // the same, if seen soon after it, although it is only possible
  bool last_resort = false;         // named only for lines that show nothing else
  std::vector<std::string> sources; // addresses
};

// All causes: those in the tables, and one for each Xid without a cause of its own.
const std::vector<LogCause>& log_causes();

} // namespace ncclprobe::knowledge
