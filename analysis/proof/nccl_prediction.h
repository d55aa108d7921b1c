// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/proof/nccl_tuning.h"
#include "analysis/proof/proof.h"
#include "analysis/verdict/verdict.h"

#include <optional>
#include <string>
#include <vector>

// NCCL's own predictions beside what was measured, as the default's companion learnt them: what
// ncclGroupSimulateEnd told (NCCL 2.22 and later), else from the table in its log.
namespace ncclprobe::analysis {

struct NcclPrediction {
  const SettingResult* result = nullptr; // default settings
  Use use;                               // how it was carried out
  TunedTime expected;                    // of that algorithm, in a communicator of so many ranks
  bool is_told = false;                  // by NCCL itself; otherwise calculated from its table
  // Where NCCL's choice loses: the fastest setting with a verdict for it that was carried out
  // another way.
  const SettingResult* faster = nullptr;
  double faster_ratio = 1; // of the speeds, above 1
  Use faster_use;
};

// Those of `results` (of the same run) of which a prediction is known. Points into `results`.
std::vector<NcclPrediction> nccl_predictions(const model::Run& run,
                                             const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts);

} // namespace ncclprobe::analysis
