// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/inventory.h"
#include "model/survey.h"

namespace ncclprobe::worker {

// This process in the state of a trial's process, with the same libraries loaded; and, if `scope`
// requests them, this host and the health of its GPUs. Changes nothing. Never throws: unavailable
// values are empty. `python`: an interpreter whose libraries are listed too, or empty.
model::Survey take_survey(const backend::Options& options, Gpus gpus, model::SurveyScope scope,
                          const std::string& python);

} // namespace ncclprobe::worker
