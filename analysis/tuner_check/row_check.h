// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/hit_counts.h"
#include "tuning/table_file.h"

#include "analysis/report_value/why.h"
#include "model/run.h"
#include "workload/nccl_variables.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What becomes of each row of a tuner table: by the counts that the plugin left, by the calls of a
// run, and by NCCL's rules. Pure.
namespace ncclprobe::analysis {

enum class RowState {
  hit,        // NCCL used the row's choice
  never,      // no call came for which the row is
  impossible, // NCCL cannot do what the row chooses
  overridden, // a variable prevents it
  unchecked,  // possible, as far as is known; no evidence was given
};

struct RowCheck {
  int number = 0; // from 1, as in the table
  tuning::Row row;
  RowState state = RowState::unchecked;
  // How often it was used: the most calls of any process, because every rank counts the same
  // calls; or the cells of the run. Absent: no evidence.
  std::optional<std::uint64_t> calls;
  Why reason; // a clause; absent for `hit` and `unchecked`
};

// A job whose ranks are spread evenly over its nodes.
struct JobShape {
  int ranks = 0; // 0: not known
  int nodes = 1;
};

struct RowEvidence {
  std::vector<tuning::HitCounts> hits; // by process
  const model::Run* run = nullptr;     // its companion trials say how each cell ran
  // Of the job; with a run, the run's are used.
  workload::Variables environment;
  // Communicators larger than the job do not exist. Smaller ones may: a program splits them.
  JobShape shape = {};
};

// In the order of the table. Errors: mismatch if hits are those of another table.
Result<std::vector<RowCheck>> check_rows(const tuning::TableFile& table,
                                         const RowEvidence& evidence);

} // namespace ncclprobe::analysis
