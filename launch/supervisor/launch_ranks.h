// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/trial_report.h"

#include <optional>
#include <vector>

// Trials on some ranks of the launch (TrialSpec::launch_ranks).
namespace ncclprobe::launch {

// The launch's number of a trial's rank.
int rank_of_launch(const model::TrialSpec& spec, int rank);

// One for each rank of the trial, each once, below `ranks`.
bool has_launch_ranks(const model::TrialSpec& spec, int ranks);

// From the trial's numbers to those of the launch, which people know. Nothing changes for a trial
// on the first ranks.
void number_as_launch(const model::TrialSpec& spec, std::vector<TrialReport>& reports,
                      std::optional<Trouble>& cause);
// The same for the rows of a cell alone.
void number_rows_as_launch(const model::TrialSpec& spec, model::CellRecord& record);

} // namespace ncclprobe::launch
