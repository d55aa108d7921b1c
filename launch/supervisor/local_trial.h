// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/active_clock.h"
#include "launch/supervisor/layout.h"
#include "launch/supervisor/trial_state.h"
#include "launch/supervisor/worker_handle.h"

#include <functional>

namespace ncclprobe::launch {

// One supervisor's part of one trial: its workers, from spawn until their process groups are gone.
// trial_state.h makes all decisions; this class reports events to it and performs its actions.
// Never waits.
class LocalTrial {
public:
  using Tell = std::function<void(MessageBody)>;

  // Starts the workers. `phase` is Prepared or Running.
  LocalTrial(model::TrialSpec spec, const Layout& layout, int supervisor,
             const SupervisorOptions& options, const ActiveClock& clock, TrialPhase phase,
             Tell tell_leader);

  const TrialState& state() const { return state_; }
  void take(TrialEvent event);
  void stop(const StopOrder& order);

  void watch(std::vector<pollfd>& into);
  void serve(const std::vector<pollfd>& polled);

  std::string lost_workers() const; // the workers that did not die, in words; empty if none
  // True if a worker was killed or did not exit with 0: it may not have cleaned up.
  bool untidy() const;
  std::vector<pid_t> pids() const;
  std::int64_t spawned_at_s() const { return spawned_at_s_; } // seconds since 1970
  // True if something is due soon that no descriptor will announce: a group's end, or an answer.
  bool ending() const;

private:
  void spawn(std::size_t worker);
  void hear(std::size_t worker, std::vector<WorkerEvent> events);
  void perform(const action::Start& start);
  void perform(const action::Send& send);
  void perform(action::Tell& tell) { tell_leader_(std::move(tell.body)); }
  void perform(const action::Examine&);
  void perform(const action::Stop& stop);
  void perform(action::Report& report);
  void perform(const action::RemoveSpools&);
  const std::vector<int>& ranks_of(std::size_t worker) const;
  Result<ProcessCommand> command_of(std::size_t worker) const;
  std::vector<std::string> environment_of(std::size_t worker) const;
  std::vector<model::Setting> nccl_settings(std::size_t worker) const;
  std::filesystem::path spool_of(std::size_t worker) const; // of a traced trial

  model::TrialSpec spec_;
  Layout layout_; // of this trial
  const SupervisorOptions& options_;
  const ActiveClock& clock_;
  Tell tell_leader_;
  TrialState state_;
  std::vector<std::optional<WorkerHandle>> handles_; // empty: it could not be started
  std::int64_t spawned_at_s_;
};

} // namespace ncclprobe::launch
