// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "analysis/search/search.h"
#include "model/cell_label.h"
#include "model/record.h"

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
// size. Empty if nothing is proven, or if NCCL asks no tuner about these collectives.
std::vector<tuning::Row> tuned_rows(const search::Space& space, const search::Outcome& outcome,
                                    const std::vector<model::CellLabel>& labels,
                                    const TunedShape& shape);

// Completes the rows by the log of a process with the same settings. A row asks for at most the
// channels that its communicator has: NCCL would silently take no more. It gets NCCL's own
// estimates by the table in the log, unless the log has none for its communicator, and none for
// all_reduce over several nodes: there NCCL corrects the table by figures that it does not log. It
// gets the NVLink domains that NCCL gave the worker's tuner, unless communicators of its ranks and
// nodes differ in them.
void complete_rows(std::vector<tuning::Row>& rows, const model::TrialRecord& companion);

} // namespace ncclprobe::analysis::tune
