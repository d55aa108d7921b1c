// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "analysis/search/search.h"
#include "model/cell_label.h"

#include <vector>

namespace ncclprobe::analysis::tune {

// The communicator that was measured.
struct TunedShape {
  int ranks = 0;
  int nodes = 0;
};

// Rows of a tuner table for the targets (`labels`, in their order) whose own algorithm, protocol or
// channels are proven to be faster than the settings alone. A row covers the sizes that were
// measured: from one to another where no measured size in between chooses differently, else one
// size. Empty if nothing is proven, or NCCL asks no tuner about the collectives.
std::vector<tuning::Row> tuned_rows(const search::Space& space, const search::Outcome& outcome,
                                    const std::vector<model::CellLabel>& labels,
                                    const TunedShape& shape);

} // namespace ncclprobe::analysis::tune
