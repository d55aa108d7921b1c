// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/step_results.h"
#include "model/run.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What input copies and the step slow each other down by, pinned against pageable memory beside
// it, and the loss account of the step. Empty if no input was copied.
std::string render_input_copies(const model::Run& run,
                                const std::vector<steps::StepResult>& results);

// For the summary: of each comparison at the most ranks one sentence.
std::vector<std::string> input_copy_sentences(const std::vector<steps::StepResult>& results);

} // namespace ncclprobe::analysis
