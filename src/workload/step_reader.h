// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

namespace ncclprobe::workload {

// The request that a cell with this label and type came from. `model`: what its name stands for.
// Errors: unsupported for a pattern or an option that is not known here (a newer ncclprobe wrote
// it), or ranks that do not divide.
base::Result<StepRequest> request_of(const StepLabel& label, model::DataType type, ModelSpec model);

} // namespace ncclprobe::workload
