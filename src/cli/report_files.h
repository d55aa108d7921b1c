// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"

#include <filesystem>
#include <iosfwd>
#include <string>

// What the commands that read a run file have in common. `command` is what messages begin with,
// "ncclprobe report".
namespace ncclprobe::cli {

// A run that was stopped lies in parts, which are folded first; what is damaged is told on `err`.
base::Result<model::Run> read_run_or_parts(const std::filesystem::path& run_file,
                                           std::ostream& err);

// One line on `err`; returns the exit code.
int complain(std::ostream& err, const std::string& command, const base::Error& error,
             int exit_code);

// What the run file of the folder "run.trace" is called; empty: the folder is something else.
std::filesystem::path run_file_of(const std::filesystem::path& folder);

// Errors: invalid_argument if the output is the run file itself, one of its traces, or what lies in
// the folder that is read; of a folder of traces, also its run file, which is read with it.
base::Result<void> check_output(const std::filesystem::path& output,
                                const std::filesystem::path& run_file,
                                const char* option = "--output");

// To the file, or to `out` if it has no name. Returns the exit code (0, 7).
int write_text(const std::string& text, const std::filesystem::path& output, std::ostream& out,
               std::ostream& err, const std::string& command);

} // namespace ncclprobe::cli
