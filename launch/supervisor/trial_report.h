// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "wire/message.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What a supervisor knows about its part of a trial. It is sent to the leader, which makes the
// record.
namespace ncclprobe::launch {

using wire::WorkerPhase;

struct RankReport {
  int rank = 0;
  WorkerPhase phase = WorkerPhase::spawned;
  int cell = -1;                            // the current or last cell
  std::map<int, model::CellRecord> results; // by cell
  std::optional<model::Evidence> evidence;
};
NCCLPROBE_FIELDS(RankReport, rank, phase, cell, results, evidence)

struct WorkerReport {
  model::WorkerRecord record;
  std::vector<RankReport> ranks;
  bool lost = false; // survived SIGKILL
  // After a missed deadline only:
  std::string state;    // as ps(1) shows it (process_state.h); empty if it had ended
  std::string waits_in; // key of the exchange in which it waited for others
  std::vector<model::Setting> nccl_settings; // NCCL_ variables of its environment
};
NCCLPROBE_FIELDS(WorkerReport, record, ranks, lost, state, waits_in, nccl_settings)

struct TrialReport {
  std::vector<WorkerReport> workers;
  // From spawn (if prepared: from its turn) until its last rank was ready for the first cell; 0 =
  // never.
  std::int64_t startup_ns = 0;
  bool prepared = false; // its workers were started before their turn
};
NCCLPROBE_FIELDS(TrialReport, workers, startup_ns, prepared)

// Why a trial has to end early.
struct Trouble {
  enum class Kind {
    interrupted, // the user or the launcher ends the run
    skipped,     // a worker reports that it is impossible here
    failed,      // a worker reports it, or breaks the protocol
    exited,      // it exited without a reason
    signalled,   // it was killed by a signal
    timed_out,
  };
  Kind kind = Kind::failed;
  std::string reason{};               // what happened, not where; empty when timed_out
  std::vector<int> ranks{};           // global
  std::optional<WorkerPhase> phase{}; // of these ranks; absent: it is not theirs
  int cell = -1;
  std::int64_t limit_ns = 0; // timed_out: the deadline that was missed
  bool peer_ended = false;   // failed: only a consequence of what happened to another rank
};
NCCLPROBE_FIELDS(Trouble, kind, reason, ranks, phase, cell, limit_ns, peer_ended)

} // namespace ncclprobe::launch
