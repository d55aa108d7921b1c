// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/prediction.h"

namespace ncclprobe::analysis {

// "ddp of gpt2-124m, bf16, batch 8".
std::string describe(const workload::StepRequest& request);

// The step that is meant, and what is known of its computing: measured; else what the user states;
// else the rates of the run's steps of other models, of the type that is meant. What the user does
// not say is as those have it. Errors: those of predict().
base::Result<cost_model::StepBase> base_of(const model::Run& run,
                                           const std::vector<steps::StepResult>& results,
                                           PredictionRequest request);

} // namespace ncclprobe::analysis
