// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "analysis/results/run_summary.h"
#include "base/output_file.h"

#include <filesystem>
#include <iosfwd>
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

// Prints one line on `err`; returns the exit
int complain(std::ostream& err, const std::string& command, const Error& error, int exit_code);

// The same for a file that could not be read: a fault of the file (2), or a lack of processes or
// memory (6).
int complain_of_input(std::ostream& err, const std::string& command, const Error& error);

// The run file of the folder "run.trace"; empty if it is not such a folder.
std::filesystem::path run_file_of(const std::filesystem::path& folder);

// Checks an output before any slow work. `inputs`: run files and folders. Errors: invalid_argument
// if the output is an input, one of its traces, or a file in a folder that is read (for a folder of
// traces also its run file); and those of check_output_file().
Result<void> check_output(const base::Destination& output,
                          const std::vector<std::filesystem::path>& inputs,
                          const char* option = "--output");

// The exit code of an error: 7 for an output that cannot be written, otherwise 2.
int exit_code_of_output(const Error& error);

// Writes to the file, or to `out` if it has no name. Returns the exit code (0, 2, 7).
using WriteTo = std::function<void(const analysis::Sink& sink)>;
int write_result(const WriteTo& write, const base::Destination& output, std::ostream& out,
                 std::ostream& err, const std::string& command);
int write_report(const analysis::Report& report, analysis::Format format,
                 const base::Destination& output, std::ostream& out, std::ostream& err,
                 const std::string& command);

} // namespace ncclprobe::cli
