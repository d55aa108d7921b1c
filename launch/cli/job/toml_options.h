// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/option.h"

namespace ncclprobe::cli {

// Reads a TOML document whose keys are options, with _ for -. A value is the option's text, a
// number, true or false, or an array of these. `file` is its name. Errors: invalid_argument with
// file and line.
Result<void> read_toml_options(const std::string& text, const std::string& file,
                               const Options& options);

} // namespace ncclprobe::cli
