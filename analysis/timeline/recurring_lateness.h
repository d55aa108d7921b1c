// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/aligned.h"
#include "base/fields.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// A rank that is late only in some steps: how often, by how much, and whether at regular intervals.
// A mean over all steps hides this.
namespace ncclprobe::analysis::timeline {

// The largest delay by which a rank came last in a step; 0 if it did not, or by at most twice the
// clocks' error.
using LatenessOfStep = Aligned;

// Steps first, first + every, first + 2 x every, ...
struct Recurrence {
  std::size_t every = 0;
  std::size_t first = 0;
  std::size_t steps = 0; // number of steps
  std::size_t late = 0;  // of these are late
};
NCCLPROBE_FIELDS(Recurrence, every, first, steps, late)

struct RecurringLateness {
  std::size_t steps = 0; // all
  std::size_t last = 0;  // in which it came last
  Aligned when_last;     // median of these
  // Steps with a much larger delay than the others; 0: there are no two such groups.
  std::size_t late = 0;
  Aligned when_late;                    // median of these
  double else_ns = 0;                   // of the others
  std::optional<Recurrence> recurrence; // of the late ones
};
// Nothing if it was never last.
std::optional<RecurringLateness> recurring_lateness(const std::vector<LatenessOfStep>& steps);

// The regular distance of the greatest values. At least three quarters of the steps of a recurrence
// are among as many greatest values of all; with random values, a recurrence would be found in one
// of 100 cases. Nothing if there is none. `late` is then the number of steps with such values.
std::optional<Recurrence> find_recurrence(const std::vector<double>& values);

} // namespace ncclprobe::analysis::timeline
