// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::base {

// Exit codes of every program of the project. Part of the command-line contract
// (docs/troubleshooting.md, --help).
enum ExitCode : int {
  k_exit_ok = 0,              // all requested measurements succeeded
  k_exit_internal = 1,        // a defect of ncclprobe
  k_exit_usage = 2,           // bad arguments, plan or input file
  k_exit_some_failed = 3,     // some cells failed, timed out or were skipped; the rest was measured
  k_exit_nothing = 4,         // nothing could be measured
  k_exit_wrong_data = 5,      // a collective or a P2P transfer delivered wrong data
  k_exit_environment = 6,     // the launch does not match the machine or the run that it resumes
  k_exit_output = 7,          // results could not be written
  k_exit_warnings = 8,        // doctor: the worst finding is a warning
  k_exit_failures = 9,        // doctor: the worst finding is a failure; claim: it cannot be true
  k_exit_regression = 10,     // compare: a gate found a regression
  k_exit_undecided = 11,      // compare: a gate is not decided, so it is not passed; fleet: a node
  k_exit_not_comparable = 12, // compare: the runs of a gate or baseline cannot be compared
  k_exit_hang = 13,           // hang: an operation of the job hangs
  k_exit_bad_node = 14,       // fleet: a node, link or rail is named bad
  k_exit_interrupted = 130,   // Ctrl-C or a terminating signal
};

} // namespace ncclprobe::base
