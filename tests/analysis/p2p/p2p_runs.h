// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "workload/p2p_plan.h"

#include <functional>

namespace ncclprobe::analysis_test {

// GB/s of a transfer, ns a hop of a latency cell.
using P2pRates = std::function<double(const workload::P2pLabel&, const workload::P2pTransfer&)>;

// A run of `ranks` H200 GPUs on one host, each with 18 NVLinks: every cell of the plan, with three
// batches that take what the rates say, one of them 0.1% less and one 0.1% more.
model::Run make_p2p_run(int ranks, std::vector<workload::P2pMethod> methods, const P2pRates& rates);

} // namespace ncclprobe::analysis_test
