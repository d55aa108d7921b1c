// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

namespace ncclprobe::analysis {

// The GPU of a rank with this place; null: it has none, or its host did not report it.
const model::CudaDevice* gpu_of(const model::RunHeader& header, const model::RankPlace& place);

} // namespace ncclprobe::analysis
