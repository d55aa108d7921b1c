// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>

namespace ncclprobe::analysis {

// One line for each cell that delivered wrong data, to stand where nobody can miss it; empty if
// none did.
std::string render_wrong_data(const model::Run& run);

// What was not measured and why: trials with the same setting and the same end stand together, with
// ranks, how far each worker came, its last output, and what to do next. Empty if all went well.
std::string render_problems(const model::Run& run);

} // namespace ncclprobe::analysis
