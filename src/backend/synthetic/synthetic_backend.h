// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::backend {

// Times come from a cost model (cost_model.h) on a virtual clock that moves only when somebody asks
// whether a stream is idle. Exact and the same everywhere: for golden tests and for trying out
// sweeps. Its numbers are not measurements. It moves no data, needs no memory, and its ranks never
// talk to each other: max_over_ranks() returns its argument.
std::unique_ptr<Backend> make_synthetic_backend(const Options&);

} // namespace ncclprobe::backend
