// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace ncclprobe::analysis {

// Which CPUs each setting's workers ran on, and whether that is what was asked for. Empty if no
// setting asks for CPUs.
std::string render_cpus(const model::Run& run);
nlohmann::ordered_json cpus_json(const model::Run& run);

} // namespace ncclprobe::analysis
