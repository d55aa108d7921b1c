// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "launch/supervisor/file_fetch.h"
#include "launch/supervisor/heartbeats.h"
#include "launch/supervisor/leader_trial.h"
#include "launch/supervisor/local_trials.h"
#include "launch/supervisor/supervisor.h"

#include <atomic>
#include <map>
#include <set>
#include <sys/eventfd.h>

namespace ncclprobe::launch {

inline constexpr int k_leader = 0; // its rank in the fleet

struct Supervisor::Impl {
  Impl(Fleet& fleet_in, Layout layout_in, SupervisorOptions options_in)
      : fleet(fleet_in), layout(std::move(layout_in)), options(std::move(options_in)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        local(layout, fleet.rank(), options, active,
              [this](int number, MessageBody body) { tell_leader(number, std::move(body)); }),
        heartbeats(fleet.size()), fetch([this](int supervisor, MessageBody body) {
          post(supervisor, fleet.last_trial, std::move(body));
        }) {
    adopt_orphans();
  }

  // Past the tree.
  void post(int supervisor, int number, MessageBody body) {
    fleet.post(supervisor, encode(SupervisorMessage{number, std::move(body)}));
  }
  // Leader only.
  void tell(const RankSet& supervisors, int number, MessageBody body);
  void tell_all(int number, MessageBody body) { tell({}, number, std::move(body)); }
  void tell_leader(int number, MessageBody body);

  // One turn of the event loop: handles messages, workers and clocks, then waits for the next
  // event.
  void turn();
  bool take_messages();
  void take(ReceivedMessage& received, SupervisorMessage message);
  void take_as_leader(ReceivedMessage& received, SupervisorMessage message);
  void bypass_silent();
  LeaderTrial* find(int number);
  void begin(const model::TrialSpec& spec);
  void announce(const model::TrialSpec& spec);
  void begin_ahead(std::span<const model::TrialSpec> upcoming);
  void abandon_ahead();
  void note_losses(const LeaderTrial& ended);
  void watch_leader();
  void act_on_stop_request();
  void end_run(Haste haste);
  int patience_ms() const;
  // Of traces, in supervisor_traces.cpp.
  void read_clock();
  std::vector<std::string> keep_trace(const std::string& spec);
  void end_trace(const model::TrialSpec& spec, int number);
  void take_stored(int from, int number, const TraceStored& stored);
  bool storing(int supervisor) const;
  void tell_where_traces_stay(const model::TrialSpec& spec);
  void send_heartbeat();
  std::string host_of(int supervisor) const;

  Fleet& fleet;
  Layout layout;
  SupervisorOptions options;
  base::Fd wake;
  ActiveClock active;
  std::atomic<bool> stop_requested{false};
  bool stop_acted_on = false;
  bool released = false;
  bool others_lost = false; // a supervisor that should have answered did not
  std::set<int> lost;       // on the leader: who
  bool interrupted_elsewhere = false;
  std::optional<std::string> why_no_more; // on the leader; absent: more trials may follow
  LocalTrials local;
  bool leader_lost = false;        // on a follower: the leader was asked, and does not answer
  std::vector<ClockReading> clock; // against the leader's
  FileSource files_here;

  // On the leader: of supervisors that store traces; on a follower: of the leader.
  Heartbeats heartbeats;

  // Only on the leader:
  FileFetch fetch;             // of traces
  std::set<int> traces_stored; // supervisors that have stored their part of the current trace
  int storing_number = 0;      // of that trial; 0: of none
  std::int64_t next_bypass_ns = 0;
  std::map<int, LeaderTrial> leading; // by number: the one that run() waits for, the one ahead
  std::optional<model::TrialSpec> announced; // to be prepared for the next number
  std::unique_ptr<store::TrialRows> rows;    // of the last trial
  std::int64_t last_event_ns = base::monotonic_ns();
};

} // namespace ncclprobe::launch
