// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "base/output_file.h"

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

// What the commands that read a run file have in common. `command` is what messages begin with,
// "ncclprobe report".
namespace ncclprobe::cli {

// Also of a run that was stopped and lies in parts.
base::Result<model::Run> read_run_or_parts(const std::filesystem::path& run_file);

// A run of which no sample is needed by itself: memory grows with its results. Errors: as
// store::read_run().
base::Result<analysis::RunSummary> read_summary(const std::filesystem::path& run_file);
// Also of a run that was stopped and lies in parts.
base::Result<analysis::RunSummary> read_summary_or_parts(const std::filesystem::path& run_file);

// Folds the parts of a run into its file (store::fold()) and logs what it lacks.
base::Result<void> fold_parts(const std::filesystem::path& run_file);

// One line on `err`; returns the exit code.
int complain(std::ostream& err, const std::string& command, const base::Error& error,
             int exit_code);

// The same of a file that could not be read: its own fault (2), or that of a lack of processes or
// memory (6).
int complain_of_input(std::ostream& err, const std::string& command, const base::Error& error);

// What the run file of the folder "run.trace" is called; empty: the folder is something else.
std::filesystem::path run_file_of(const std::filesystem::path& folder);

// Before anything that takes long is done. `inputs`: run files and folders. Errors:
// invalid_argument if the output is one of them, one of its traces, or what lies in the folder that
// is read; of a folder of traces, also its run file, which is read with it. And those of
// check_output_file().
base::Result<void> check_output(const base::Destination& output,
                                const std::vector<std::filesystem::path>& inputs,
                                const char* option = "--output");

// The exit code of an error, where the only one that is no bad input is an output that cannot be
// written (2, 7).
int exit_code_of_output(const base::Error& error);

// To the file, or to `out` if it has no name. Returns the exit code (0, 2, 7).
int write_text(const std::string& text, const base::Destination& output, std::ostream& out,
               std::ostream& err, const std::string& command);

} // namespace ncclprobe::cli
