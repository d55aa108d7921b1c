// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/option.h"

#include <functional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// An array of tables, such as [[node]]. Each table's keys are options again.
struct TomlTables {
  std::string key;                // "node"
  std::function<Options()> begin; // the options of one more table
  // Checks it; its error gets the line of the table. `place`: file and line.
  std::function<Result<void>(const std::string& place)> finish;
};

// Reads a TOML document whose keys are options, with _ for -. A value is the option's text, a
// number, true or false, or an array of these. `file` is its name. Errors: invalid_argument with
// file and line.
Result<void> read_toml_options(const std::string& text, const std::string& file,
                               const Options& options, const std::vector<TomlTables>& tables = {});

} // namespace ncclprobe::cli
