// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"
#include "launch/cli/doctor/doctor_survey.h"

namespace ncclprobe::cli {

// On every supervisor: each connects to the others over the interface that the backend's library
// would choose there, and sends more than one packet. All get what all found. Errors: protocol.
base::Result<std::vector<analysis::doctor::Connection>> connect_ranks(SurveyedJob& job,
                                                                      const std::string& backend);

} // namespace ncclprobe::cli
