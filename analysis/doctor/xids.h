// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_results.h"

namespace ncclprobe::analysis::doctor {

// D11 from the kernel log: GPU errors that the driver reported, and their age. Only recent errors,
// or errors of unknown age, are failures. If an old one still has an effect, other checks show it.
void check_xids(const model::Survey& survey, CheckResults& into);

} // namespace ncclprobe::analysis::doctor
