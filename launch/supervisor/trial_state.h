// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/process.h"
#include "launch/supervisor/rank_watch.h"
#include "launch/supervisor/supervisor.h"
#include "launch/supervisor/supervisor_message.h"

#include <set>

// One supervisor's part of one trial as a state machine. step() decides and has no side effects;
// LocalTrial tells it what happens and does what it says. All times are an ActiveClock's.
//
//   Prepared -> Running -> Failing -> Asking -> Stopping -> Over
//   Prepared -> Spoilt -> Discarding -> Over
//
// Every phase but Spoilt may be skipped on the way to the right, and Over comes when no process is
// left.
//
// Two exchanges are gates. A trial that is only prepared is kept at k_turn_key. Every trial is kept
// at k_measure_key until MeasureGateOpened.
namespace ncclprobe::launch {

namespace phase {

// The workers were started before the trial's turn. The leader is not informed about them.
struct Prepared {
  std::int64_t due_ns = 0; // deadline for all ranks to wait for their turn
};
// A preparation failed and will be discarded.
struct Spoilt {
  std::string why;
};
struct Running {};
// Trouble was reported to the leader, which should order a stop. Workers continue until then.
struct Failing {
  Ask ask = Ask::no;              // yes: a deadline was missed
  std::int64_t answer_due_ns = 0; // when the leader should have answered
};
// Workers report where they are before they are stopped.
struct Asking {
  std::int64_t until_ns = 0;
  std::set<std::size_t> silent; // workers that have not answered
};
struct Stopping {};
// The same as Stopping, but the leader is not informed.
struct Discarding {};
// No process is left, or the rest survived SIGKILL.
struct Over {};

} // namespace phase

using TrialPhase = std::variant<phase::Prepared, phase::Spoilt, phase::Running, phase::Failing,
                                phase::Asking, phase::Stopping, phase::Discarding, phase::Over>;

// What can happen. `worker` is an index into TrialReport::workers.
namespace event {

struct Spawned {
  std::size_t worker = 0;
  model::WorkerRecord record;
};
// It could not be started.
struct Failed {
  std::size_t worker = 0;
  Trouble::Kind kind = Trouble::Kind::failed;
  std::string reason;
};
struct Said {
  std::size_t worker = 0;
  wire::Message message;
};
struct Broke { // its channel broke
  std::size_t worker = 0;
  std::string what;
};
struct Exited {
  std::size_t worker = 0;
  ExitStatus status;
  std::string last_words;
};
struct Examined { // what the kernel reports about it
  std::size_t worker = 0;
  std::string state;
  std::string stack;
};
struct AllGone {};
struct Tick {};
struct Promoted {}; // it is the prepared trial's turn
struct Discarded {
  Haste haste = Haste::normal;
};
struct MeasureGateOpened {};
struct Delivered {
  wire::Exchange whole;
};
struct StopAsked {
  StopOrder order;
};
struct LeaderAnswered {}; // it answered the trouble that we reported
struct LeaderHeard {};    // it sent something, but no answer

} // namespace event

using TrialEvent =
    std::variant<event::Spawned, event::Failed, event::Said, event::Broke, event::Exited,
                 event::Examined, event::AllGone, event::Tick, event::Promoted, event::Discarded,
                 event::MeasureGateOpened, event::Delivered, event::StopAsked,
                 event::LeaderAnswered, event::LeaderHeard>;

// Actions, to be performed in this order.
namespace action {

struct Start { // send the worker its part of the trial
  std::size_t worker = 0;
};
struct Send {
  std::size_t worker = 0;
  wire::Body body;
};
struct Tell { // the leader
  MessageBody body;
};
struct Examine {}; // all workers that have not ended
struct Stop {      // all workers
  Haste haste = Haste::normal;
};
// Complete the report with what the processes left and send it to the leader.
struct Report {
  TrialReport report;
  bool ended_early = false;
};
struct RemoveSpools {};

} // namespace action

using TrialAction = std::variant<action::Start, action::Send, action::Tell, action::Examine,
                                 action::Stop, action::Report, action::RemoveSpools>;

struct PendingExchange {
  wire::Exchange exchange;
  std::size_t expected = 0; // members among our ranks
  // Deadline of the whole exchange; none: our part was not sent on yet.
  std::optional<std::int64_t> due_ns;
  bool complete() const { return exchange.contributions.size() == expected; }
};

struct TrialState {
  // Of `workers` only ranks and host are set. Keeps references to the first two arguments.
  TrialState(const model::TrialSpec& spec, const SupervisorOptions& options,
             std::vector<model::WorkerRecord> workers, TrialPhase phase, std::int64_t now_ns);

  const model::TrialSpec* spec;
  const SupervisorOptions* options;
  TrialPhase phase;
  TrialReport report;               // as far as it is known
  std::map<int, RankWatch> watches; // by global rank
  std::set<std::size_t> troubled;   // workers in trouble: later trouble only follows from the first
  std::set<std::size_t> ended;      // workers
  std::map<std::string, PendingExchange> exchanges;
  bool measure_gate_open = false;
  // When the leader counts as lost: it has not answered our trouble.
  std::optional<std::int64_t> leader_lost_ns;
  std::int64_t begun_ns; // spawned, or promoted
  std::optional<ProgressNote> told;
  std::int64_t next_progress_ns = 0;
  std::int64_t next_heartbeat_ns = 0;

  template <typename Phase>
  bool in() const {
    return std::holds_alternative<Phase>(phase);
  }
  bool over() const { return in<phase::Over>(); }
  bool complete(const std::string& key) const; // for our ranks
  bool at_turn() const { return complete(wire::k_turn_key); }
  bool opened() const; // all ranks are past their own devices
  bool at_measure_gate() const { return complete(wire::k_measure_key) && !measure_gate_open; }
  bool past_measure_gate() const;  // or there was none
  bool measuring() const;          // all ranks are in cells
  bool waits_for_exchange() const; // of others
  // Ranks have waited in an exchange beyond the others' deadlines: the leader should be asked.
  bool exchange_overdue(std::int64_t now_ns) const;
};

// The worker program that the trial requests; null: ours.
const model::Setting* asked_program(const model::TrialSpec& spec);

struct TrialStep {
  TrialState state;
  std::vector<TrialAction> actions;
};
TrialStep step(TrialState state, TrialEvent event, std::int64_t now_ns);

} // namespace ncclprobe::launch
