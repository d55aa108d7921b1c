// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

// A made-up run that uses every corner of the model, the same on every call.
namespace ncclprobe::support {

// Two hosts, eight GPUs, libraries that are there and that are not, pinned variables.
model::RunHeader example_header(int trials);

// Its kind depends on id % 5: ok, ok with other settings, failed, timed out (earlier cells kept),
// skipped. With captured output that is not UTF-8, empty texts, and cells without samples.
model::TrialRecord example_trial(int id);

model::Run example_run(int trials = 5);

} // namespace ncclprobe::support
