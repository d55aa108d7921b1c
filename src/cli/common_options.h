// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "base/output_file.h"
#include "model/trial.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

// What options of several commands have in common, so that they read, refuse and explain the same.
// `names` is "--sizes,-s", `value` what the help shows of its argument.
namespace ncclprobe::cli {

// Takes one argument; its error is shown with the option's name.
using TakeText = std::function<base::Result<void>(const std::string&)>;

CLI::Option* add_text(CLI::App& app, const char* names, const char* value, const char* help,
                      TakeText take);
// The same for an option that may be repeated.
CLI::Option* add_texts(CLI::App& app, const char* names, const char* value, const char* help,
                       TakeText take);

// The same in a group of the help; without `value` a flag, which takes "on".
void add_form(CLI::App& app, const std::string& names, const char* value, const char* help,
              const char* group, TakeText take);

CLI::Option* add_backend(CLI::App& app, std::optional<std::string>& into);
CLI::Option* add_real_backend(CLI::App& app, std::optional<std::string>& into); // no synthetic one
CLI::Option* add_ranks(CLI::App& app, std::optional<int>& into, int most);
void add_seed(CLI::App& app, std::optional<std::uint64_t>& into, const char* help);
CLI::Option* add_library(CLI::App& app, std::vector<model::Setting>& into);
void add_cell_timeouts(CLI::App& app, std::optional<std::int64_t>& cell_ns,
                       std::optional<std::int64_t>& startup_ns);

CLI::Option* add_run_file(CLI::App& app, std::optional<std::string>& into); // --output
void add_text_file(CLI::App& app, base::Destination& into);                 // --output, --force
CLI::Option* add_force(CLI::App& app, base::Overwrite& into, const char* help);
void add_quiet(CLI::App& app, base::Verbosity& into, const char* help);
void add_verbose(CLI::App& app, base::Verbosity& into);

} // namespace ncclprobe::cli
