// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/findings.h"

namespace ncclprobe::analysis::doctor {

// D11 of the kernel's log: what the driver reported of GPUs, and how long ago. Only what is recent,
// or of unknown age, is a failure: what broke before shows in the other checks, if it still is.
void check_xids(const model::Survey& survey, Findings& into);

} // namespace ncclprobe::analysis::doctor
