// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/affinity.h"
#include "launch/fleet.h"
#include "launch/layout.h"
#include "model/inventory.h"
#include "model/record.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::launch {

struct WorkerProgram {
  std::filesystem::path path;           // ncclprobe-worker
  std::vector<std::string> arguments;   // after argv[0]; the channel is descriptor 3
  std::vector<std::string> environment; // the launching environment, complete ("NAME=value")
  Affinity affinity = Affinity::inherited;
};

// How a trial is going, for progress output. Called on the leader's thread; must be quick.
struct TrialProgress {
  int cells_done = 0; // cells finished on every rank
  int cells = 0;
  std::string phase; // of the slowest rank
};

struct SupervisorOptions {
  WorkerProgram program;
  int seats_per_worker = 1; // > 1: one worker drives that many devices of this supervisor
  std::chrono::milliseconds stop_wait{500}; // stop ladder: after the channel closes, before SIGTERM
  std::chrono::milliseconds term_wait{1000}; // after SIGTERM, before SIGKILL
  std::chrono::milliseconds kill_wait{
      5000}; // after SIGKILL: a worker that survives is reported as lost
  std::function<void(const TrialProgress&)> on_progress; // leader only
};

// One supervisor's part in running trials. All supervisors of the fleet hold one, with the same
// layout. The leader (fleet rank 0) calls run() for each trial and release() at the end; the others
// call follow(), which serves trials until released.
//
// Guarantees: run() returns when every worker process group of the trial is gone on every host (or
// is reported lost). It takes at most the deadlines in the spec plus the stop ladder. A crash,
// error or missed deadline on any rank stops all ranks at once. Results of cells that ended before
// are kept. No worker outlives its supervisor by more than a moment (end of file on the
// channel).
class Supervisor {
public:
  Supervisor(Fleet& fleet, Layout layout, SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Leader only. Everything that can go wrong with the trial is in the record.
  model::TrialRecord run(const model::TrialSpec& spec);
  // Leader only: the run is over.
  void release();
  // All but the leader.
  void follow();
  // Async-signal-safe: the current trial ends as not_run, run() and follow() return soon.
  void request_stop();
  // No further trial will run: a stop was requested here or on another supervisor (leader only), or
  // a supervisor no longer answers.
  bool stopped() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs `ncclprobe-worker --inventory` once and returns what it reports. Errors: timed_out, crashed,
// protocol, with the end of the worker's output.
base::Result<model::Host> take_inventory(const WorkerProgram& program,
                                         std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
