// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/inventory.h"
#include "model/survey.h"

namespace ncclprobe::worker {

// This process as a trial's would be, with the libraries loaded that a trial loads; and, as far as
// `scope` asks for them, this host and the health of its GPUs. Changes nothing. Never throws: what
// cannot be had is left empty. `python`: an interpreter whose libraries are listed too, or empty.
model::Survey take_survey(const backend::Options& options, Gpus gpus, model::SurveyScope scope,
                          const std::string& python);

} // namespace ncclprobe::worker
