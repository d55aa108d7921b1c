// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/clock_envelope.h"
#include "launch/supervisor/cpu_policy.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/layout.h"
#include "model/inventory.h"
#include "model/record.h"
#include "model/survey.h"

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
  // By rank, of this supervisor's: the CPUs near its device; none = all that are allowed. For
  // trials that do not ask for any (TrialSpec::cpu_affinity).
  std::map<int, std::vector<int>> cpus_of_rank;
  HostCpus host_cpus;         // for trials that ask for CPUs themselves
  int devices_per_worker = 1; // > 1: one worker drives that many devices of this supervisor
  // What a missed deadline may cost, up to SIGKILL, leaves the kernel three seconds of the five
  // that a dead trial takes at the most.
  std::chrono::milliseconds where_wait{1000}; // for hanging workers to say where they are
  std::chrono::milliseconds stop_wait{300}; // stop ladder: after the channel closes, before SIGTERM
  std::chrono::milliseconds term_wait{500}; // after SIGTERM, before SIGKILL
  // After SIGKILL: a worker that survives is reported as lost, with its device, and the run ends.
  // The driver may take its time to clean up after a dead process.
  std::chrono::milliseconds kill_wait{10'000};
  // Waiting cannot tell silent from slow, so once a trial has failed whoever is still at work on
  // its end says so. A supervisor that says nothing for so long is cut off, and the leader goes on
  // without it; with what comes before and after, this is within those five seconds.
  std::chrono::milliseconds cut_off_after{4000};
  // A leader that hears of trouble orders the end of the trial at once, but between two trials it
  // may be writing to a slow disk. So a supervisor that gets no answer stops its workers after the
  // time above, as the trial has failed anyway, and leaves after this one.
  std::chrono::milliseconds leader_silence{30'000};
  // A leader that says nothing for so long while nothing runs, or beyond the deadline of those that
  // this supervisor's ranks wait for, is asked whether it is still there; a frozen one does not
  // answer, and the time above begins.
  std::chrono::milliseconds leader_patience{30'000};
  std::function<void(const TrialProgress&)> on_progress; // leader only
  // Every supervisor, when a traced trial is over everywhere and its workers have left their spools
  // in spec.trace_folder. `clock`: this host's against the leader's, before and after the trial,
  // and of the traced trials before it. Calls send_heartbeat() about once a second, so that the
  // others wait. Returns the files it made, which come to the leader's host.
  std::function<std::vector<std::string>(const model::TrialSpec& spec,
                                         std::span<const ClockReading> clock,
                                         const std::function<void()>& send_heartbeat)>
      on_trace;
  // Leader only: have the next trial's workers started while the present ones start up.
  bool prepare = false;
  // What a preparation may take; the present trial waits for it before it measures.
  std::chrono::milliseconds prepare_patience{20'000};
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

  // Leader only. Everything that can go wrong with the trial is in the record. `upcoming` are the
  // trials that will most likely be run next: the first is prepared during this one, and begins
  // when this one has its results. A trial that was not announced, or differs, starts afresh.
  model::TrialRecord run(const model::TrialSpec& spec,
                         std::span<const model::TrialSpec> upcoming = {});
  // Leader only: the run is over.
  void release();
  // All but the leader.
  void follow();
  // Async-signal-safe: the current trial ends as not_run, run() and follow() return soon.
  void request_stop();
  // No further trial will run: a stop was requested here or on another supervisor (leader only), or
  // a supervisor no longer answers.
  bool stopped() const;
  // Leader only: it was stopped by a request, here or on another supervisor.
  bool interrupted() const;
  // Leader only: why, in words; empty if it was not.
  std::string why_stopped() const;
  // Another supervisor (of a follower: the leader) no longer answers, and never will.
  bool others_lost() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs `ncclprobe-worker --inventory` once and returns what it reports. Errors: timed_out, crashed,
// protocol, with the end of the worker's output.
base::Result<model::Host> take_inventory(const WorkerProgram& program,
                                         std::chrono::milliseconds patience);

// Likewise `--survey`.
base::Result<model::Survey> take_survey(const WorkerProgram& program, model::SurveyScope scope,
                                        std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
