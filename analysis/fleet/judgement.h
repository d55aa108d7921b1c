// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"

namespace ncclprobe::analysis::fleet {

// What the history says of every node, link and rail.
Judgement judge(const CheckOptions& options, const History& history);

} // namespace ncclprobe::analysis::fleet
