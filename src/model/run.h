// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/inventory.h"
#include "model/record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::model {

// Where each global rank lives.
struct RankPlace {
  int rank = 0;
  int host = 0;   // index in RunHeader::hosts
  int device = 0; // GPU index, or slot number on the CPU
  bool operator==(const RankPlace&) const = default;
};
NCCLPROBE_FIELDS(RankPlace, rank, host, device)

// A variable whose value differs from rank 0's.
struct RankVariable {
  std::vector<int> ranks;
  std::string name;
  std::optional<std::string> value; // absent: not set there
  bool operator==(const RankVariable&) const = default;
};
NCCLPROBE_FIELDS(RankVariable, ranks, name, value)

// Known before the first trial.
struct RunHeader {
  std::string run_id; // random UUID
  std::string started_utc;
  std::string ncclprobe_version;
  std::string mpi_version; // empty without mpirun
  std::vector<std::string> argv;
  std::uint64_t seed = 0;
  std::string backend;
  std::string backend_reason; // why this one
  bool synthetic = false;     // numbers are not measurements
  std::vector<Host> hosts;
  std::vector<RankPlace> ranks;
  std::vector<Setting>
      environment;             // variables of the launching environment that bear on the result
  std::vector<Setting> pinned; // those of them that a sweep had asked for, and were left alone
  int planned_trials = 0;
  std::string plan;           // the plan file that means all options: what --resume goes on with
  std::vector<Setting> files; // that trials load or start, and what tells their contents apart
  std::vector<std::string> forced; // differences that --force let pass when the run was resumed
  std::vector<RankVariable>
      environment_of_ranks; // where it is not what `environment`, rank 0's, says
  bool operator==(const RunHeader&) const = default;
};
NCCLPROBE_GROWN_FIELDS(RunHeader,
                       (run_id, started_utc, ncclprobe_version, mpi_version, argv, seed, backend,
                        backend_reason, synthetic, hosts, ranks, environment, pinned,
                        planned_trials),
                       (plan, forced, environment_of_ranks, files))

struct Run {
  RunHeader header;
  std::vector<TrialRecord> trials; // by TrialSpec::id; fewer than planned if the run was stopped
  bool operator==(const Run&) const = default;
};

} // namespace ncclprobe::model
