// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "base/error.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/job/session.h"

namespace ncclprobe::cli {

// An answer, and the exit code that goes with it: worst severity of a log, whether a GPU lacks
// code. `figures` of the report keep what its tables point into.
struct DoctorAnswer {
  analysis::Report report;
  int exit_code = 0;
};

// Errors: invalid_argument and not_found for what was given, io.
base::Result<DoctorAnswer> answer_question(const World& world, const DoctorQuestions& questions);

} // namespace ncclprobe::cli
