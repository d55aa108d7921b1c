// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "base/error.h"
#include "base/output_file.h"
#include "launch/cli/common/usage.h"
#include "model/record.h"

#include <exception>
#include <string>

// How a command ends: errors and outcomes as exit codes (base/exit_code.h).
namespace ncclprobe::cli {

int exit_code_of(const base::Error& error);

// Prints the error on stderr and returns its exit code.
int give_up(const base::Error& error);

// The same for an unexpected exception: a lack of memory or processes, or a bug.
int give_up_after(const std::exception& error);

// Prints a result on stdout; k_exit_output, with a message, if it cannot be written.
int show(const std::string& text, int exit_code);

// The same to a file, or to stdout if none is named. Text that is unsafe for a terminal is escaped
// in files too, because people look at them on a terminal.
int deliver(const std::string& text, const base::Destination& to, int exit_code);
// The same for a report, in pieces, as wide as the terminal where it is shown.
int deliver(const analysis::Report& report, analysis::Format format, const base::Destination& to,
            int exit_code);
// In the format that was asked for.
int deliver(const analysis::Report& report, const ResultOptions& how, int exit_code);

// Checks that deliver() can write there; before any slow work.
base::Result<void> check_destination(const base::Destination& to);

// Combines the outcomes of a run's trials into one exit code.
class Tally {
public:
  void add(const model::TrialRecord& trial);
  int exit_code() const;

private:
  int ok_ = 0;
  int failed_ = 0;
  int wrong_ = 0;
};

} // namespace ncclprobe::cli
