// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::backend {

// Times come from a cost model (cost_model.h) on a virtual clock, which advances only when somebody
// polls a stream. They are exact and the same on every machine, for golden tests and for trying out
// sweeps; they are not measurements. The backend moves no data and needs no memory. Its ranks do
// not communicate: max_over_ranks() returns its argument.
std::unique_ptr<Backend> make_synthetic_backend(const Options&);

} // namespace ncclprobe::backend
