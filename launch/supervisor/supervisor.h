// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/clock_envelope.h"
#include "launch/supervisor/cpu_policy.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/layout.h"
#include "launch/supervisor/trial_report.h"
#include "model/inventory.h"
#include "model/record.h"
#include "model/survey.h"
#include "store/trial_rows.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ncclprobe::launch {

struct WorkerProgram {
  std::filesystem::path path;           // ncclprobe-worker
  std::vector<std::string> arguments;   // after argv[0]; the channel is descriptor 3
  std::vector<std::string> environment; // the inherited environment, complete ("NAME=value")
  Affinity affinity = Affinity::inherited;
  std::string chosen_because = {}; // empty: there was no choice
};

// How a trial is going, for progress output. Called on the leader's thread; must be quick.
struct TrialProgress {
  int cells_done = 0; // cells finished on every rank
  int cells = 0;
  WorkerPhase phase = WorkerPhase::spawned; // of the slowest rank
};

struct SupervisorOptions {
  WorkerProgram program;
  // The CPUs near the device of each rank of this supervisor; without an entry: all that are
  // allowed. For trials that do not request CPUs (TrialSpec::cpu_affinity).
  std::map<int, std::vector<int>> cpus_of_rank;
  HostCpus host_cpus;         // for trials that request CPUs
  int devices_per_worker = 1; // > 1: one worker drives that many devices of this supervisor
  // These limits up to SIGKILL take two of the five seconds that a dead trial may cost after its
  // deadline. The kernel gets the other three.
  std::chrono::milliseconds where_wait{1000}; // for hanging workers to report where they are
  std::chrono::milliseconds stop_wait{300}; // stop ladder: after the channel closes, before SIGTERM
  std::chrono::milliseconds term_wait{500}; // after SIGTERM, before SIGKILL
  // After SIGKILL: a worker that survives is reported as lost, with its device, and the run ends.
  // The driver may need time to clean up after a dead process.
  std::chrono::milliseconds kill_wait{10'000};
  // Waiting cannot distinguish silent from slow. So after a failed trial every supervisor that
  // still works on its end sends heartbeats. One that is silent for this long is dropped, and the
  // leader continues without it. Together with the steps before and after, this stays within those
  // five seconds.
  std::chrono::milliseconds cut_off_after{4000};
  // The leader orders the end of the trial as soon as trouble is reported, but between two trials
  // it may be writing to a slow disk. A supervisor that gets no answer stops its workers after the
  // time above, because the trial has failed anyway, and leaves after this time.
  std::chrono::milliseconds leader_silence{30'000};
  // If the leader is silent for this long while nothing runs, or beyond the deadline of the ranks
  // that this supervisor's ranks wait for, it is asked whether it is still there. A frozen leader
  // does not answer, and the time above begins.
  std::chrono::milliseconds leader_patience{30'000};
  std::function<void(const TrialProgress&)> on_progress; // leader only
  // Called on every supervisor when a traced trial is over everywhere and its workers have written
  // their spools to spec.trace_folder. `clock`: readings of this host's clock against the leader's,
  // before and after the trial, and of earlier traced trials. It must call send_heartbeat() about
  // once a second. Returns the files it made; these are copied to the leader's host.
  std::function<std::vector<std::string>(const model::TrialSpec& spec,
                                         std::span<const ClockReading> clock,
                                         const std::function<void()>& send_heartbeat)>
      on_trace;
  // Leader only: start the next trial's workers while those of the current one start.
  bool prepare = false;
  // Time limit of a preparation; the current trial waits for it before it measures.
  std::chrono::milliseconds prepare_patience{20'000};
  std::filesystem::path rows_folder; // leader only: see keep_rows_in()
};

// One supervisor's part in running trials. All supervisors of the fleet hold one, with the same
// layout. The leader (fleet rank 0) calls run() for each trial and release() at the end; the others
// call follow(), which serves trials until released.
//
// Guarantees: run() returns when every worker process group of the trial is gone on every host (or
// is reported lost). What was prepared for a trial to come is gone after release() or follow(). It
// takes at most the deadlines in the spec plus the stop ladder. A crash, error or missed deadline
// on any rank stops all ranks at once. Results of cells that ended before are kept. No worker
// outlives its supervisor by more than a moment (end of file on the channel).
class Supervisor {
public:
  Supervisor(Fleet& fleet, Layout layout, SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Leader only. Failures of the trial are in the record. `upcoming` are the trials that will most
  // likely run next: the first is prepared during this one, and begins when this one has its
  // results. A trial that was not announced, or differs, starts from nothing.
  model::TrialRecord run(const model::TrialSpec& spec,
                         std::span<const model::TrialSpec> upcoming = {});
  // Leader only: where to put the samples, conditions and marks of a trial's cells if they are too
  // many for memory. Empty, as at first: they stay in the record all the same.
  void keep_rows_in(std::filesystem::path folder);
  // Those of the last trial, if they are not in its record; empty if they are.
  std::unique_ptr<store::TrialRows> take_rows();
  // Leader only: the run is over.
  void release();
  // All but the leader.
  void follow();
  // Async-signal-safe: the current trial ends as not_run, run() and follow() return soon.
  void request_stop();
  // True if no further trial will run: a stop was requested here or on another supervisor (leader
  // only), or a supervisor no longer responds.
  bool stopped() const;
  // Leader only: a request stopped it, here or on another supervisor.
  bool interrupted() const;
  // Leader only: why, in words; empty if it was not.
  std::string why_stopped() const;
  // Another supervisor (on a follower: the leader) has stopped responding for good.
  bool others_lost() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs `ncclprobe-worker --inventory` once and returns what it reports. Errors: timed_out, crashed,
// protocol, with the end of the worker's output.
Result<model::HostInventory> take_inventory(const WorkerProgram& program,
                                            std::chrono::milliseconds patience);

// The same for `--survey`.
Result<model::Survey> take_survey(const WorkerProgram& program, model::SurveyScope scope,
                                  std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
