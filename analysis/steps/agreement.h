// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/step_marks/step_figures.h"
#include "analysis/timeline/timeline.h"
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

// The possible difference between a mark and the kernel next to it: resolution of an event (0.5
// us), and the gap between two pieces of work on a stream (1 to 2 us).
inline constexpr double k_mark_ns = 2000;

// Step, computation, communication, exposed communication and, if there is one, exposed input copy.
// Nothing if the trace has no step of that cell, or the marks cannot be read.
std::vector<Agreement> agreement(const model::Schedule& schedule, int world_size,
                                 const std::vector<model::Mark>& marks,
                                 const timeline::Timeline& trace, int cell);

// "events and trace agree: step 12.31 and 12.35 ms, ..."; or the differences, and that they exceed
// the noise.
std::string agreement_text(const std::vector<Agreement>& quantities);

} // namespace ncclprobe::analysis::steps
