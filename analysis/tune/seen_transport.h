// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "workload/transport_in_use.h"

#include <string>

namespace ncclprobe::analysis::tune {

// What a user must know if NCCL connected ranks by another transport than `expected`: tune tries
// the settings that matter for those. Empty: NCCL did as expected, or its log shows no connections.
// NCCL's log does not tell NVLink from PCIe. `companion`: a trial of the default with NCCL's log.
std::string unexpected_transport(const workload::TransportsInUse& expected,
                                 const model::TrialRecord& companion);

} // namespace ncclprobe::analysis::tune
