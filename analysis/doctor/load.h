// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/findings.h"

namespace ncclprobe::analysis::doctor {

// D22 and D12 under the sustained load of --deep: clocks of its end against its first second, what
// slowed the GPUs down meanwhile, and whether PCIe links came up to speed.
void check_load(const Case& one, Findings& into);

} // namespace ncclprobe::analysis::doctor
