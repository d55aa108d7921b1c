// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/verdict/verdict.h"
#include "model/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// NCCL's own predictions beside what was measured, and where its choice loses (nccl_prediction.h).
// Empty if the run has none.
std::string render_nccl_predictions(const model::Run& run,
                                    const std::vector<SettingResult>& results,
                                    const Verdicts& verdicts);

// The same as an array of one object a cell.
nlohmann::ordered_json nccl_predictions_json(const model::Run& run,
                                             const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts);

} // namespace ncclprobe::analysis
