// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/prediction.h"

namespace ncclprobe::analysis {

// "ddp of gpt2-124m, bf16, batch 8".
std::string describe(const workload::StepRequest& request);

// The requested step and what is known about its computing time: measured; else as the user states;
// else from the rates of the run's steps of other models with the requested type. Options that the
// user does not give are as in those steps. Errors: those of predict().
base::Result<cost_model::StepBase> base_of(const model::Run& run,
                                           const std::vector<steps::StepResult>& results,
                                           PredictionRequest request);

} // namespace ncclprobe::analysis
