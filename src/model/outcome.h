// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/parse_enum.h"

#include <string>
#include <vector>

namespace ncclprobe::model {

// How a cell or a whole trial ended. Ordered by severity: if ranks' outcomes differ, the worst
// counts.
enum class OutcomeKind {
  ok,
  skipped,    // impossible here: the reason says what is missing
  not_run,    // an earlier cell ended the trial, or the run was stopped
  failed,     // a library or ncclprobe itself returned an error
  timed_out,  // the deadline passed
  crashed,    // a worker died
  wrong_data, // it ran, and the data is wrong
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::ok;
  std::string reason;     // empty when ok; one line that says what happened and where
  std::vector<int> ranks; // affected global ranks

  bool ok() const { return kind == OutcomeKind::ok; }
  bool operator==(const Outcome&) const = default;
};
NCCLPROBE_DESCRIBE(Outcome,
                   NCCLPROBE_COLUMN(kind,
                                    "how it ended; for a trial: worst of its cells and workers"),
                   NCCLPROBE_COLUMN(reason, "why it is not ok; empty when ok"),
                   NCCLPROBE_COLUMN(ranks, "global ranks that are affected"))

// The worse of two; if they are equal, the first with the ranks of both.
Outcome worse(Outcome a, const Outcome& b);

// "0-3,6".
std::string format_ranks(std::vector<int> ranks);

} // namespace ncclprobe::model
