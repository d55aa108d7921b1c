// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/outcome.h"
#include "model/trial.h"

#include <cstdint>
#include <string>
#include <vector>

// What came out of a trial.
namespace ncclprobe::model {

// One batch on one rank: `iterations` back-to-back launches took `elapsed_ns` on that rank's clock.
struct Sample {
  std::int32_t rank = 0; // global
  std::int32_t batch = 0;
  std::int32_t iterations = 0;
  std::int64_t elapsed_ns = 0;
  bool operator==(const Sample&) const = default;
};

// Was the data looked at, and what was found, over all ranks.
struct CheckResult {
  enum class Kind { unchecked, checked } kind = Kind::unchecked;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  std::string first_wrong; // "rank 3 element 17: 5 instead of 6"; empty if none
  std::string why_unchecked;
  bool operator==(const CheckResult&) const = default;
};

struct CellRecord {
  Outcome outcome;
  CheckResult check;
  std::vector<Sample> samples; // ordered by batch, then rank
  bool operator==(const CellRecord&) const = default;
};

// One worker process of the trial.
struct WorkerRecord {
  std::vector<int> ranks; // global ranks it drove
  std::string host;
  std::int32_t pid = 0;
  std::string
      last_phase; // how far it came: spawned, ready, communicator_init, cell, teardown, done
  std::int32_t last_cell = -1;
  std::string exit;        // "exit 0", "signal 9 (Killed)"
  std::string output_tail; // last lines of its stdout and stderr; kept for trials that are not ok
  bool operator==(const WorkerRecord&) const = default;
};

struct TrialRecord {
  TrialSpec spec;
  Outcome outcome;               // gravest of all cells and workers
  std::vector<CellRecord> cells; // as many as spec.cells
  std::vector<WorkerRecord> workers;
  std::string started_utc;
  std::int64_t startup_ns = 0; // spawn until all ranks were ready
  std::int64_t total_ns = 0;   // spawn until all workers were gone
  bool operator==(const TrialRecord&) const = default;
};

} // namespace ncclprobe::model
