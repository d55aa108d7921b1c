// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "workload/p2p_plan.h"

#include <functional>

namespace ncclprobe::analysis_test {

// GB/s of a transfer, ns a hop of a latency cell.
using P2pRates = std::function<double(const model::P2pLabel&, const model::P2pTransfer&)>;

// A run of `ranks` H200 GPUs on one host, each with 18 NVLinks. Every cell of the plan has three
// batches, whose times follow the rates: one 0.1% below and one 0.1% above.
model::Run make_p2p_run(int ranks, std::vector<model::P2pMethod> methods, const P2pRates& rates);

} // namespace ncclprobe::analysis_test
