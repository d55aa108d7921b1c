// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/case.h"
#include "model/json.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis::doctor {

nlohmann::json case_json(const Case& one);

} // namespace ncclprobe::analysis::doctor
