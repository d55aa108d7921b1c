// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/step_marks/step_figures.h"
#include "analysis/timeline/timeline.h"
#include "base/fields.h"
#include "model/record.h"

#include <string>
#include <vector>

// A traced trial measures a step's parts twice: by its marks (events on the streams) and by the
// trace of its kernels. Do they agree?
namespace ncclprobe::analysis::steps {

// Of one cell, means over its ranks and steps, ns.
struct Agreement {
  std::string quantity; // "communication"
  double by_marks_ns = 0;
  double by_trace_ns = 0;
  // The allowed difference: twice the standard error from the scatter of the steps, plus k_mark_ns
  // for every mark around the stretches that count.
  double noise_ns = 0;
  bool agrees() const;
};
NCCLPROBE_FIELDS(Agreement, quantity, by_marks_ns, by_trace_ns, noise_ns)

// The possible difference between a mark and the kernel next to it: resolution of an event (0.5
// us), and the gap between two pieces of work on a stream (1 to 2 us).
inline constexpr double k_mark_ns = 2000;

// Step, computation, communication, exposed communication and, if there is one, exposed input copy.
// Nothing if the trace has no step of that cell, or the marks cannot be read.
std::vector<Agreement> agreement(const model::Schedule& schedule, int world_size,
                                 const std::vector<model::Mark>& marks,
                                 const timeline::Timeline& trace, int cell);

// "step 12.310 and 12.350 ms", by marks and by trace.
std::string in_words(const Agreement& one);

} // namespace ncclprobe::analysis::steps
