// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/local_trial.h"
#include "launch/supervisor/shared_memory_sweep.h"

#include <memory>

namespace ncclprobe::launch {

// All that one supervisor has running: the trial that was ordered last, those before it that are
// still being torn down, and the next one, prepared. Decides when what is next may begin, so that
// nothing else of ours touches a device while a trial measures:
// - The next trial's workers are started once the present ones have opened their devices, and only
//   before the present trial's measure gate.
// - That gate opens when no other trial's process is left, and what is prepared is at its turn.
// - An order that was not prepared begins when no process of another trial is left.
class LocalTrials {
public:
  using Tell = std::function<void(int trial, MessageBody)>;

  LocalTrials(const Layout& layout, int supervisor, const SupervisorOptions& options,
              const ActiveClock& clock, Tell tell_leader);

  void order(int trial, std::string spec);
  void prepare(int trial, std::string spec);
  void deliver(int trial, const wire::Exchange& whole);
  void stop(int trial, const StopOrder& order);
  // Ends the run: later orders are refused.
  void stop_all(Haste haste);
  void discard_prepared(Haste haste, const std::string& why);

  void watch(std::vector<pollfd>& into);
  void serve(const std::vector<pollfd>& polled);

  // Call it when no trial will follow and idle() holds.
  void clean_up() { shared_memory_.last_look(); }
  bool idle() const { return trials_.empty() && !next_ && !waiting_ && discarded_.empty(); }
  bool ending() const; // something is due that no descriptor will announce
  bool waits_for_exchange() const;
  bool measuring() const;
  bool forgotten() const; // the leader has forgotten us: see TrialState::leader_lost_ns
  // The leader should have sent something by now: nothing runs here, or ranks wait for its message.
  bool leader_overdue() const;
  void on_leader_heard();

private:
  struct Numbered {
    int number = 0;
    std::string spec;                  // as ordered
    std::unique_ptr<LocalTrial> trial; // empty: not begun yet
  };

  void stop(Numbered& numbered, const StopOrder& order);
  std::unique_ptr<LocalTrial> begin(const Numbered& numbered, TrialPhase phase);
  void refuse(int trial, std::string reason);
  void drop_what_is_over();
  void begin_what_may();
  Numbered* find(int trial);

  const Layout& layout_;
  int supervisor_;
  const SupervisorOptions& options_;
  const ActiveClock& clock_;
  Tell tell_leader_;
  std::vector<Numbered> trials_;    // those that have begun; the current one is the last
  std::optional<Numbered> waiting_; // ordered; begins when all others are gone
  std::optional<Numbered> next_;    // to be prepared, or prepared
  std::vector<std::unique_ptr<LocalTrial>> discarded_;
  bool closed_ = false;
  // When the leader counts as lost: it never ordered the end of a trial that we ended.
  std::optional<std::int64_t> leader_lost_ns_;
  std::optional<std::int64_t> order_due_ns_; // while nothing runs
  SharedMemorySweep shared_memory_;
};

} // namespace ncclprobe::launch
