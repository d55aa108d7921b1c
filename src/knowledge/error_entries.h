// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What error messages of CUDA, NCCL, MPI, PyTorch, Gloo, schedulers and the kernel mean.
namespace ncclprobe::knowledge {

enum class Severity { info, warn, fail };

// What a message says about the order of things.
enum class ErrorRole {
  cause,
  wrapper,     // only passes an error on: "unhandled system error"
  consequence, // seen on ranks that did not fail first: "connection closed by remote peer"
};

struct ErrorEntry {
  std::string id;    // "shm_too_small"
  std::string title; // "/dev/shm too small"
  ErrorRole role = ErrorRole::cause;
  std::string layer; // "host", "network", "nccl"
  std::string phase; // "init"; empty: any
  Severity severity = Severity::fail;
  std::vector<std::string> match;       // RE2 expressions that name this problem
  std::vector<std::string> weak_match;  // such as fit other problems as well
  std::string symptom;                  // what it looks like without any message
  std::vector<std::string> root_causes; // likeliest first
  std::vector<std::string> confirm;
  std::vector<std::string> fix;
  std::vector<std::string> avoid; // what people try and what makes it worse
  std::string note;
  std::vector<std::string> sources; // addresses
};

// All of them: those of the table, and one for each Xid that has no entry of its own there.
const std::vector<ErrorEntry>& error_entries();

} // namespace ncclprobe::knowledge
