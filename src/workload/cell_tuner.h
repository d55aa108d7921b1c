// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <map>
#include <string>

namespace ncclprobe::workload {

// Makes NCCL ask the tuner in the worker (src/plugin/tuner) if cells of the trial have settings.
// Keeps another choice of the environment or of the trial; these cells will be skipped then.
void ask_for_tuner(model::TrialSpec& trial, const std::map<std::string, std::string>& environment);
// For any trial, to learn the shapes of its communicators: a tuner without a choice keeps NCCL's.
void add_tuner(model::TrialSpec& trial, const std::map<std::string, std::string>& environment);

} // namespace ncclprobe::workload
