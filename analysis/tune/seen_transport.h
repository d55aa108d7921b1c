// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "workload/transport_in_use.h"

#include <string>

namespace ncclprobe::analysis::tune {

// What a user must know if NCCL connected its ranks by another transport than `expected`, for which
// the settings were chosen that tune tried. Empty: NCCL did as expected, or its log shows no
// connections. `companion`: a trial of the default with NCCL's log.
std::string unexpected_transport(const workload::TransportsInUse& expected,
                                 const model::TrialRecord& companion);

} // namespace ncclprobe::analysis::tune
