// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace ncclprobe::analysis {

// What each setting did (proof.h): verdicts on its variables with the log line they rest on, and
// where algorithm, protocol or channels differ from the default's. Empty if the run has no
// companions.
std::string render_proof(const model::Run& run);

// The same, whole, as an array of one object a setting.
nlohmann::ordered_json proof_json(const model::Run& run);

} // namespace ncclprobe::analysis
