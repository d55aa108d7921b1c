// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

namespace ncclprobe::workload {

// The request behind a cell with this label and type. `model`: the model of that name. Errors:
// unsupported for an unknown pattern or option (a newer ncclprobe wrote it), or ranks that do not
// divide.
base::Result<StepRequest> request_of(const StepLabel& label, model::DataType type, ModelSpec model);

} // namespace ncclprobe::workload
