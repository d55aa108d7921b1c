// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/layout.h"
#include "launch/letter.h"
#include "launch/rank_watch.h"
#include "launch/supervisor.h"
#include "launch/worker_handle.h"

#include <functional>
#include <list>
#include <map>

namespace ncclprobe::launch {

// One supervisor's part of one trial: its workers, from spawn until their groups are gone. Tells
// the leader what happens (exchange parts, progress, trouble, at last the report). Never waits.
//
// Two exchanges are gates. At k_turn_key a trial that is only prepared is kept; until promote() the
// leader hears nothing of it. At k_measure_key every trial is kept until open_measure_gate().
class LocalTrial {
public:
  using Tell = std::function<void(LetterBody)>;
  enum class Standing { ordered, prepared };

  LocalTrial(model::TrialSpec spec, const Layout& layout, int supervisor,
             const SupervisorOptions& options, Standing standing, Tell tell_leader);

  // It is its turn.
  void promote();
  // Only prepared: all its ranks have started their libraries and wait.
  bool at_turn() const;
  // Only prepared: something went wrong, and what.
  const std::string& spoilt() const { return spoilt_; }
  // Ends it without a word to the leader.
  void discard(Haste haste);

  bool opened() const; // all ranks are past their own devices
  // All ranks are connected and wait for open_measure_gate().
  bool at_measure_gate() const;
  void open_measure_gate();
  bool past_measure_gate() const; // or it never came to one

  void watch(std::vector<pollfd>& into);
  void serve(const std::vector<pollfd>& polled);
  void deliver(const wire::Exchange& whole);
  void stop(const StopOrder& order);

  bool over() const { return reported_; }
  std::string lost_workers() const; // that did not die, in words; empty if there are none
  // A worker was killed, or ended otherwise than with exit 0: it may not have cleaned up after
  // itself.
  bool untidy() const;
  std::vector<pid_t> pids() const;
  std::int64_t spawned_at_s() const { return spawned_at_s_; } // seconds since 1970
  // Something is due soon that no descriptor of ours will announce: a group's end, or everybody's
  // contributions to an exchange.
  bool ending() const;
  bool waits_for_exchange() const; // of others
  // The leader was told of trouble and has not answered: the workers need not go on meanwhile.
  bool unanswered() const { return !stopping_ && answer_due_.expired(); }
  StopOrder own_order() const { return {Haste::normal, timed_out_ ? Ask::yes : Ask::no}; }
  // When a leader that has not answered counts as lost; none if it has, or was told of nothing.
  std::optional<base::Deadline> forgotten_at() const { return forgotten_at_; }
  bool stopped_unanswered() const { return forgotten_at_ && answer_due_.expired(); }
  void on_answer() { forgotten_at_.reset(); }
  void on_leaders_sign(); // it is busy with something else
  // Ranks have waited in an exchange for as long as the others may take: the leader should know.
  bool exchange_overdue() const;
  // We did not run for so long ourselves.
  void postpone(std::chrono::nanoseconds by);
  bool measuring() const; // all ranks are in cells

private:
  struct Worker {
    std::vector<RankSeat> seats;
    std::optional<WorkerHandle> handle; // none: it could not be started
    std::string cpus;                   // it may run on
    std::string cpus_asked;             // by the trial; empty: it asks for none, or was refused
    std::vector<model::Library> libraries;
    std::vector<model::MemoryUse> memory;
    bool said_why = false; // sent Failure: its exit is no news
    bool troubled = false; // its trouble has been told
    bool answered = false; // said where it is
    std::string position;
    std::string stack;
    std::string state;
    std::string waits_in;
  };
  struct PendingExchange {
    wire::Exchange exchange;
    std::size_t expected = 0; // members among our ranks
    bool sent = false;
    base::Deadline due = base::Deadline::never(); // of the leader's word on it
  };

  void spawn();
  void spawn(Worker& worker);
  void hear(Worker& worker, WorkerEvent event);
  void hear_message(Worker& worker, wire::Message message);
  void hear_exit(Worker& worker, const ExitStatus& status);
  void contribute(Worker& worker, wire::Exchange exchange);
  bool complete(const std::string& key) const;
  void pass_on(PendingExchange& pending);
  void break_protocol(Worker& worker, const std::string& what);
  void tell_trouble(Worker& worker, Trouble::Kind kind, std::string reason, std::vector<int> ranks);
  void look_at_deadlines();
  void await_answer();
  void tell_progress();
  void tell_of_life();
  void ask_where();
  void hear_position(Worker& worker, wire::Position position);
  void end_asking();
  void report_if_over();
  base::Result<Command> command_of(const Worker& worker) const;
  std::vector<std::string> environment_of(const Worker& worker) const;
  std::vector<model::Setting> nccl_settings(const Worker& worker) const;
  std::vector<int> ranks_of(const Worker& worker) const;
  std::filesystem::path spool_of(const Worker& worker) const; // of a traced trial
  void remove_spool(const Worker& worker) const;
  model::WorkerRecord who_is(const Worker& worker) const; // ranks, host and process
  std::vector<RankWatch*> watches_of(const Worker& worker);

  model::TrialSpec spec_;
  const SupervisorOptions& options_;
  Standing standing_;
  Tell tell_leader_;
  std::vector<int> host_of_rank_;
  std::vector<std::string> host_names_;
  std::list<Worker> workers_;
  std::map<int, RankWatch> watches_; // by global rank
  std::map<std::string, PendingExchange> exchanges_;
  std::int64_t spawned_ns_ = 0;
  std::int64_t spawned_at_s_ = 0;
  std::int64_t startup_ns_ = 0;
  ProgressNote told_{-1, "", 0};
  base::Deadline next_progress_ = base::Deadline::after(std::chrono::nanoseconds(0));
  base::Deadline prepared_by_;
  base::Deadline next_sign_ = base::Deadline::after(std::chrono::nanoseconds(0));
  base::Deadline answer_due_ = base::Deadline::never();
  std::optional<base::Deadline> forgotten_at_;
  std::string spoilt_;
  bool was_prepared_ = false;
  bool measure_gate_open_ = false;
  bool told_finished_ = false;
  bool discarded_ = false;
  bool timed_out_ = false;
  std::optional<base::Deadline> asking_until_;
  bool stopping_ = false;
  bool reported_ = false;
};

} // namespace ncclprobe::launch
