// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/space.h"
#include "base/enum_names.h"
#include "model/outcome.h"

#include <cstddef>
#include <vector>

// What a search asks for, and what it is told.
namespace ncclprobe::analysis::search {

using base::enum_names;
using base::to_string;

enum class Stage {
  floor,     // the default against itself
  screen,    // in-process candidates, all in one process
  explore,   // combinations of process parameters, a trial each
  race,      // the best combinations again
  leave_out, // the fastest combination without each of its changes
  confirm,   // the finalists and the default, in processes that had no part in choosing
  delivery,  // what was chosen, as a job loads it, in turns with the default
};

// In which form the settings of a trial take effect.
enum class Form {
  candidate, // as the search sets them
  delivered, // as a job loads them: with a tuner table, for example
};

// Why a trial is requested.
enum class Cause {
  planned,
  slower_than_expected, // again: its changes alone lead to expect better
  default_wait,         // the default was off: until it is as before
  default_off,          // again: the default's times near that trial were off
  default_failed,       // again: the default itself failed in it
  cells_not_run,        // the cells that an earlier trial did not reach
};

struct CellRequest {
  std::size_t target = 0; // index of Space::targets
  Candidate candidate;
  bool operator==(const CellRequest&) const = default;
};

// One set of fresh processes. All cells share the process parameters.
struct TrialRequest {
  int id = 0; // counts from 0
  Stage stage = Stage::floor;
  Cause cause = Cause::planned;
  Form form = Form::candidate;
  Candidate process;              // process_part() of every cell
  std::vector<CellRequest> cells; // to be measured in this order; the same one may come repeatedly
  double effort = 1;              // share of the usual measuring time of a cell, above 0, up to 1
};

struct CellResult {
  model::OutcomeKind outcome = model::OutcomeKind::ok;
  double time_ns = 0; // per operation or step; read only if the outcome is ok
};

struct TrialResult {
  std::vector<CellResult> cells; // as requested
  double seconds = 0;            // that the whole trial took, for the budget
};

} // namespace ncclprobe::analysis::search
