// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_results.h"

namespace ncclprobe::analysis::doctor {

// D22 and D12 under the sustained load of --deep. Compares the clocks of the end with the first
// second, lists what slowed the GPUs down, and checks whether PCIe links reached full speed.
void check_load(const Case& one, CheckResults& into);

} // namespace ncclprobe::analysis::doctor
