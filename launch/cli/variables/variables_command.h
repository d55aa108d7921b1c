// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

namespace ncclprobe::cli {

struct VariablesOptions : ResultOptions {
  std::vector<std::string> asked; // "NCCL_ALGO", "NCCL_ALGO=Ring"; empty: all variables
  int version = 0;                // of NCCL; 0: the newest known one
};
Usage variables_usage(VariablesOptions& into);

// `ncclprobe variables`: which values NCCL's variables take, and how NCCL reads a given value.
// Returns an exit code.
int variables_command(const VariablesOptions& options);

} // namespace ncclprobe::cli
