// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/job/session.h"

#include <string>

namespace ncclprobe::cli {

// An answer, ready to print, and the exit code that goes with it: worst severity of a log, whether
// a GPU lacks code.
struct DoctorAnswer {
  std::string text;
  int exit_code = 0;
};

enum class AnswerFormat { text, json };

// Errors: invalid_argument and not_found for what was given, io.
base::Result<DoctorAnswer> answer_question(const World& world, const DoctorQuestions& questions,
                                           AnswerFormat format);

} // namespace ncclprobe::cli
