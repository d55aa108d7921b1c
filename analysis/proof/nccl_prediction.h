// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/proof/nccl_tuning.h"
#include "analysis/proof/proof.h"
#include "analysis/verdict/verdict.h"

#include <vector>

// NCCL's own predictions beside the measurements, from the default's companion: the estimate of
// ncclGroupSimulateEnd (NCCL 2.22 and later), else from the table in its log.
namespace ncclprobe::analysis {

struct NcclPrediction {
  const SettingResult* result = nullptr; // default settings
  Use use;                               // how NCCL ran it
  TunedTime expected;   // the prediction for that algorithm, in a communicator of that many ranks
  bool is_told = false; // by NCCL itself; otherwise calculated from its table
  // Where NCCL's choice loses: the fastest setting that ran another algorithm and has a verdict.
  const SettingResult* faster = nullptr;
  double faster_ratio = 1; // of the speeds, above 1
  Use faster_use;
};

// Those of `results` (of the same run) with a known prediction. Points into `results`.
std::vector<NcclPrediction> nccl_predictions(const model::Run& run,
                                             const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts);

} // namespace ncclprobe::analysis
