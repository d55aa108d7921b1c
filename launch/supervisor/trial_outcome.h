// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/name_ranks.h"
#include "launch/supervisor/trial_report.h"

#include <optional>
#include <set>
#include <vector>

namespace ncclprobe::launch {

// The record of a trial, made of what was known before, why it ended early (if it did), and what
// all supervisors reported. Rules:
// - A cell that ended on all ranks keeps its outcome: the gravest of the ranks', checks added up.
// - Otherwise the trial ended early. The first such cell gets the cause, the later ones are
// not_run.
//   If no rank had entered a cell, the trial never started: then the cause is every cell's.
// - After an interruption all cells that had not ended are not_run.
model::TrialRecord make_record(const model::TrialSpec& spec, const std::optional<Trouble>& cause,
                               std::vector<TrialReport> reports);

// The cells that did not end on all ranks.
std::set<int> unended_cells(const model::TrialSpec& spec, const std::vector<TrialReport>& reports);

// The cause in one line, with ranks and where they were.
model::Outcome outcome_of(const Trouble& cause, const model::TrialSpec& spec,
                          const std::vector<TrialReport>& reports);

using base::name_ranks;

// A worker that did not die, and what that means.
std::string describe_lost(const model::WorkerRecord& worker);

// "all_reduce 1M f32", "all_reduce 1M f32 with algorithm=ring".
std::string describe(const model::Cell& cell);

} // namespace ncclprobe::launch
