// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/step_figure.h"
#include "workload/step_request.h"

// A step on a node that nobody measured: the model of predictions with published rates.
namespace ncclprobe::analysis::procure {

// The rates of a node, from its file, else from the tables of GPUs: the peak rate of products of
// this type, the rate of the links (which the busbw of a collective without NVLS cannot exceed) and
// of the memory. Those of the tables are limits, without a worst.
PublishedRates rates_of(const NodeType& node, model::StepType type);

// Errors: invalid_argument for a workload without batch or type, or an unknown model.
base::Result<workload::StepRequest> request_for(const Workload& workload);

// The time with all the best rates is a limit, which no such node passes. With all the worst rates
// it is the other end; without one of them there is none. Efficiency and uncovered communication
// span the combinations of best and worst. Errors: not_found without a rate of computing or of
// collectives; invalid_argument for a workload without batch or type, or an unknown model.
base::Result<void> fill_published(StepFigure& figure, const NodeType& node,
                                  const Workload& workload);

// From nothing to what the GPU's model draws at most, for that many GPUs.
Bounds power_limits_w(const NodeType& node, int gpus);

} // namespace ncclprobe::analysis::procure
