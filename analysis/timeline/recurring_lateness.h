// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/aligned.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// A rank that is late in some steps only: how often, by how much then, and whether at regular
// intervals. A mean over all steps hides it.
namespace ncclprobe::analysis::timeline {

// By how much a rank came last in a step, at most; 0 where it did not, or not by more than twice
// what the clocks may be wrong by.
using LatenessOfStep = Aligned;

// Steps first, first + every, first + 2 x every, ...
struct Recurrence {
  std::size_t every = 0;
  std::size_t first = 0;
  std::size_t steps = 0; // so many
  std::size_t late = 0;  // of these are late
};

struct RecurringLateness {
  std::size_t steps = 0; // all
  std::size_t last = 0;  // in which it came last
  Aligned when_last;     // median of these
  // Steps in which it was late by far more than in the others; 0: there are no two such groups.
  std::size_t late = 0;
  Aligned when_late;                    // median of these
  double else_ns = 0;                   // of the others
  std::optional<Recurrence> recurrence; // of the late ones
};
// Nothing if it was never last.
std::optional<RecurringLateness> recurring_lateness(const std::vector<LatenessOfStep>& steps);

// At which regular distance the greatest values stand. Of the steps of a recurrence three quarters
// at least are among as many greatest values of all; if chance placed values, any recurrence would
// be found in one of 100 cases. Nothing if there is none. `late` is then how many of the steps are
// such values.
std::optional<Recurrence> find_recurrence(const std::vector<double>& values);

} // namespace ncclprobe::analysis::timeline
