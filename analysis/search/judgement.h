// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/measured_trial.h"
#include "analysis/search/outcome.h"

#include <optional>
#include <vector>

namespace ncclprobe::analysis::search {

// What shall be proven.
struct Finalists {
  std::optional<Candidate> process; // process parameters, for all targets
  // For each target: in-process values (the rest of the candidate does not count).
  std::vector<std::vector<Candidate>> in_process;
};

// What was measured: the default, and everything in Finalists, under the default's process
// parameters and under the finalist's.
struct Evidence {
  std::vector<MeasuredTrial> floor;     // of the default, before the choice
  std::vector<MeasuredTrial> confirmed; // after it
};

struct Judgement {
  Decision settings;
  std::vector<Decision> table;
  std::vector<Reason> reasons; // of the finalists
  bool decided = true; // more trials would change nothing: each finalist won, or is shown not to
};

// Probabilities of a false answer, in one look at the trials.
struct ErrorRates {
  // Of false settings, or a false first row of the table: half each.
  double winner = 0;
  // Of any row that gains nothing, beside settings and a row that are proven. It costs its user
  // nothing, so this may be larger.
  double further_row = 0;
};

// Settings need more than 1 + min_gain over all targets, or, where scatter leaves that open, for
// one target alone. Rows are judged with Holm's correction over all of them. Method:
// docs/method.md, "How tune decides".
Judgement judge(const Space& space, const Finalists& finalists, const Evidence& evidence,
                double min_gain, const ErrorRates& rates);

} // namespace ncclprobe::analysis::search
