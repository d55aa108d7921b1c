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
class LocalTrial {
public:
  using Tell = std::function<void(LetterBody)>;

  LocalTrial(model::TrialSpec spec, const Layout& layout, int supervisor,
             const SupervisorOptions& options, Tell tell_leader);

  void watch(std::vector<pollfd>& into);
  void serve(const std::vector<pollfd>& polled);
  void deliver(const wire::Exchange& whole);
  void stop(Haste haste);

  bool over() const { return reported_; }
  // Something is due soon that no descriptor of ours will announce: a group's end, or everybody's
  // contributions to an exchange.
  bool ending() const;
  bool waits_for_exchange() const { return !exchanges_.empty(); }
  bool measuring() const; // all ranks are in cells

private:
  struct Worker {
    std::vector<RankSeat> seats;
    std::optional<WorkerHandle> handle; // none: it could not be started
    bool said_why = false;              // sent Failure: its exit is no news
    bool troubled = false;              // its trouble has been told
  };
  struct PendingExchange {
    wire::Exchange exchange;
    std::size_t expected = 0; // members among our ranks
    bool sent = false;
  };

  void spawn();
  void hear(Worker& worker, WorkerEvent event);
  void hear_message(Worker& worker, wire::Message message);
  void hear_exit(Worker& worker, const ExitStatus& status);
  void contribute(Worker& worker, wire::Exchange exchange);
  void break_protocol(Worker& worker, const std::string& what);
  void tell_trouble(Worker& worker, Trouble::Kind kind, std::string reason, std::vector<int> ranks);
  void look_at_deadlines();
  void tell_progress();
  void report_if_over();
  std::vector<int> ranks_of(const Worker& worker) const;
  std::vector<RankWatch*> watches_of(const Worker& worker);

  model::TrialSpec spec_;
  const SupervisorOptions& options_;
  Tell tell_leader_;
  std::vector<int> host_of_rank_;
  std::vector<std::string> host_names_;
  std::list<Worker> workers_;
  std::map<int, RankWatch> watches_; // by global rank
  std::map<std::string, PendingExchange> exchanges_;
  std::int64_t spawned_ns_ = 0;
  std::int64_t startup_ns_ = 0;
  ProgressNote told_{-1, "", 0};
  base::Deadline next_progress_ = base::Deadline::after(std::chrono::nanoseconds(0));
  bool timed_out_ = false;
  bool stopping_ = false;
  bool reported_ = false;
};

} // namespace ncclprobe::launch
