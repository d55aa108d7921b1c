// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/trial.h"

#include <memory>

namespace ncclprobe::support {

// A backend of one rank that does nothing and returns at once, so that a launch takes only the
// runner's own time. Its clock is real.
std::unique_ptr<backend::Backend> make_null_backend();

// A step of training of so many operations, of the kinds and about the mix that a DDP step has.
model::Cell make_step_of(int operations, model::TimingMode mode);

// Host time that the runner takes for each of them beyond the backend's calls: the best batch.
double overhead_ns(int operations, model::TimingMode mode);

} // namespace ncclprobe::support
