// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/option_form.h"
#include "cli/run_options.h"

namespace ncclprobe::cli {

// Options of `run` that are one value or a list; what has a structure of its own, such as --set,
// is declared beside them.
struct RunFormGroup {
  const char* title; // in the help
  std::vector<OptionForm<RunOptions>> forms;
};
const std::vector<RunFormGroup>& run_option_forms();

} // namespace ncclprobe::cli
