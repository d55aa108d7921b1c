// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/communicators.h"
#include "analysis/job/step_numbers.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// The steps of a captured job, which has no marks of them.
namespace ncclprobe::analysis::job {

// Equal operations that follow each other in a step, as the rank shows them that defines the step.
struct StepPart {
  std::uint64_t communicator = 0; // CommunicatorRow::hash
  std::uint32_t function = 0;     // TraceSource::texts
  std::uint64_t bytes = 0;        // of each
  std::size_t times = 0;
  // If a data group sends its gradients in several buckets: the number of this one or of the first
  // of these, from 1, in the order of the calls. 0: it is no bucket.
  std::size_t first_bucket = 0;
};

struct StepKind {
  int rank = 0; // whose operations define it
  std::uint64_t steps = 0;
  std::vector<StepPart> parts;
};

// Consecutive steps of equally many consecutive operations.
struct StepStretch {
  std::uint32_t first_operation = 0; // index in job_operations()
  std::uint32_t operations = 0;      // of each step
  std::uint32_t first_step = 0;
  std::uint32_t steps = 0;
};

struct RankSteps {
  int rank = 0;
  std::uint64_t operations = 0;
  std::uint64_t in_steps = 0;     // of these
  std::uint64_t out_of_order = 0; // NumberedOperations::out_of_order
  std::vector<StepStretch> stretches;
};

// marked: the trace has marks of steps. no_operations: no rank has NCCL operations. no_repeats: no
// rank repeats half of its operations at least k_fewest_steps times.
enum class NoSteps : std::uint8_t { found, marked, no_operations, no_repeats };

struct FoundSteps {
  NoSteps reason = NoSteps::no_operations; // found: there are steps
  std::vector<StepKind> kinds;
  std::vector<StepBatch> batches; // ascending; their numbers on all ranks
  std::vector<RankSteps> ranks;   // ascending
  JobCommunicators communicators;

  std::uint64_t operations() const;
  std::uint64_t in_steps() const;
};

// Reads each rank once, a few of them more often if they share no communicator with the ranks
// before them. It holds three ranks at a time. Errors are those of the source.
base::Result<FoundSteps> find_steps(const timeline::TraceSource& source);

// The source with the steps as if they were marked: cells are kinds, batches are batches. Nobody
// knows when the last step of a batch ended (RankTrace::last_steps_are_open).
timeline::TraceSource with_steps(timeline::TraceSource source,
                                 std::shared_ptr<const FoundSteps> found);

} // namespace ncclprobe::analysis::job
