// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/communicators.h"
#include "analysis/job/late_causes.h"

#include <string>

namespace ncclprobe::analysis {

std::string role_text(job::Role role); // "sharded data"
std::string phase_name(const job::HeldUp& held_up, int phase);
std::string cause_text(job::DelayCause cause); // "host late"

} // namespace ncclprobe::analysis
