// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/case.h"
#include "cli/doctor_survey.h"

namespace ncclprobe::cli {

// On every supervisor: each connects to the others over the interface that NCCL would choose there.
// All get what all found. Errors: protocol.
base::Result<std::vector<analysis::doctor::Connection>> connect_ranks(Ward& ward);

} // namespace ncclprobe::cli
