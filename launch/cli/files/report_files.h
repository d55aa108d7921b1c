// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "analysis/results/run_summary.h"
#include "base/output_file.h"

#include <filesystem>
#include <string>
#include <vector>

// Shared by the commands that read a run file. `command` is how messages begin, "ncclprobe report".
namespace ncclprobe::cli {

// Also of a run that was stopped and lies in parts.
Result<model::Run> read_run_or_parts(const std::filesystem::path& run_file);

// The summary of a run, without its samples: memory grows with the results. Errors: as
// store::read_run().
Result<analysis::RunSummary> read_summary(const std::filesystem::path& run_file);
// Also of a run that was stopped and lies in parts.
Result<analysis::RunSummary> read_summary_or_parts(const std::filesystem::path& run_file);

// Folds the parts of a run into its file (store::fold()) and logs what it lacks.
Result<void> fold_parts(const std::filesystem::path& run_file);

// Prints the error on stderr; returns the exit code.
int complain(const std::string& command, const Error& error, int exit_code);

// The same for a file that could not be read: a fault of the file (2), or a lack of processes or
// memory (6).
int complain_of_input(const std::string& command, const Error& error);
// The same for an output: it cannot be written (7), or must not be (2).
int complain_of_output(const std::string& command, const Error& error);

// The run file of the folder "run.trace"; empty if it is not such a folder.
std::filesystem::path run_file_of(const std::filesystem::path& folder);

// Checks an output before any slow work. `inputs`: run files and folders. Errors: invalid_argument
// if the output is an input, one of its traces, or a file in a folder that is read (for a folder of
// traces also its run file); and those of check_output_file().
Result<void> check_output(const base::Destination& output,
                          const std::vector<std::filesystem::path>& inputs,
                          const char* option = "--output");

} // namespace ncclprobe::cli
