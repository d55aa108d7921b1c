// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/predict_options.h"

namespace ncclprobe::cli {

// Reads the run and writes what `ncclprobe predict` says of it. Returns the exit code (0, 2, 7);
// what went wrong is one line on `err`.
int predict_steps(const PredictOptions& options, std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
