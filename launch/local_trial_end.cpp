// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How one supervisor's part of a trial ends: hanging workers are asked where they are, all are
// stopped, and what is known of them is reported.
#include "launch/local_trial.h"
#include "launch/process_state.h"

#include <algorithm>

namespace ncclprobe::launch {
namespace {

// Of a worker's output and stack.
constexpr std::size_t k_kept_tail_bytes = 8 * 1024;
// Looking at all workers, before they are stopped: what this leaves out is less than what a kernel
// that is slow to answer may cost.
constexpr std::chrono::milliseconds k_look_at_most{500};

StopLadder ladder_of(const SupervisorOptions& options, Haste haste) {
  return haste == Haste::fast
             ? fast_stop_ladder()
             : stop_ladder(options.stop_wait, options.term_wait, options.kill_wait);
}

} // namespace

void LocalTrial::ask_where() {
  asking_until_ = base::Deadline::after(options_.where_wait);
  for (const auto& [key, pending] : exchanges_)
    for (Worker& worker : workers_)
      if (pending.exchange.contributions.contains(worker.seats.front().rank))
        worker.waits_in = key;
  for (Worker& worker : workers_)
    if (worker.handle && !worker.handle->ended())
      worker.handle->send({-1, wire::Where{}});
}

void LocalTrial::hear_position(Worker& worker, wire::Position position) {
  worker.answered = true;
  worker.position = std::move(position.position);
  worker.stack = position.stack.substr(0, k_kept_tail_bytes);
}

// All have answered, or will not. What the kernel knows is looked at before anything is killed.
void LocalTrial::end_asking() {
  asking_until_.reset();
  base::Deadline looked_by = base::Deadline::after(k_look_at_most);
  for (Worker& worker : workers_) {
    if (!worker.handle || worker.handle->ended())
      continue;
    if (!looked_by.expired()) {
      ProcessState now = look_at_process(worker.handle->pid());
      worker.state = now.state;
      if (worker.stack.empty())
        worker.stack = now.threads.substr(0, k_kept_tail_bytes);
    }
    worker.handle->stop(ladder_of(options_, Haste::normal));
  }
}

void LocalTrial::stop(const StopOrder& order) {
  // What happened before our own doing counts: a peer's crash may be what the stop is about.
  if (!stopping_) {
    for (Worker& worker : workers_)
      if (worker.handle)
        for (WorkerEvent& event : worker.handle->serve())
          hear(worker, std::move(event));
  }
  bool first = !std::exchange(stopping_, true);
  if (first && order.ask == Ask::yes && order.haste == Haste::normal)
    ask_where();
  exchanges_.clear();
  if (asking_until_ && order.haste == Haste::normal)
    return;
  asking_until_.reset();
  for (Worker& worker : workers_)
    if (worker.handle && !worker.handle->ended())
      worker.handle->stop(ladder_of(options_, order.haste));
}

std::vector<model::Setting> LocalTrial::nccl_settings(const Worker& worker) const {
  std::vector<model::Setting> settings;
  for (const std::string& entry : environment_of(worker))
    if (entry.starts_with("NCCL_"))
      settings.push_back({entry.substr(0, entry.find('=')), entry.substr(entry.find('=') + 1)});
  return settings;
}

model::WorkerRecord LocalTrial::who_is(const Worker& worker) const {
  model::WorkerRecord record;
  record.ranks = ranks_of(worker);
  auto host = static_cast<std::size_t>(worker.seats.front().host);
  if (host < host_names_.size())
    record.host = host_names_[host];
  if (worker.handle)
    record.pid = worker.handle->pid();
  return record;
}

void LocalTrial::report_if_over() {
  bool all_over = std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
    return !worker.handle || worker.handle->over();
  });
  if (!all_over || reported_)
    return;
  reported_ = true;
  if (discarded_ || standing_ == Standing::prepared) { // the leader knows nothing of it
    for (const Worker& worker : workers_)
      remove_spool(worker);
    return;
  }
  TrialReport report;
  report.startup_ns = startup_ns_;
  report.prepared = was_prepared_;
  for (Worker& worker : workers_) {
    WorkerReport& one = report.workers.emplace_back();
    model::WorkerRecord& record = one.record;
    record = who_is(worker);
    std::vector<RankWatch*> watches = watches_of(worker);
    auto slowest = std::min_element(watches.begin(), watches.end(), [](RankWatch* a, RankWatch* b) {
      return a->stage() < b->stage();
    });
    record.last_phase = (*slowest)->report().phase;
    record.last_cell = (*slowest)->report().cell;
    for (RankWatch* watch : watches)
      one.ranks.push_back(watch->report());
    if (!worker.handle) {
      record.exit = "not started";
      continue;
    }
    one.lost = worker.handle->lost();
    record.cpus = worker.cpus;
    record.cpus_asked = worker.cpus_asked;
    record.libraries = worker.libraries;
    record.memory = worker.memory;
    record.position = worker.position;
    record.stack = worker.stack;
    one.state = worker.state;
    one.waits_in = worker.waits_in;
    if (timed_out_ || !worker.state.empty())
      one.nccl_settings = nccl_settings(worker);
    record.exit =
        worker.handle->exit() ? worker.handle->exit()->text() : "still alive after SIGKILL";
    if (worker.handle->stopped() && worker.handle->exit())
      record.exit = "stopped: " + record.exit;
    record.output_tail = worker.handle->output_tail(k_kept_tail_bytes);
  }
  tell_leader_(std::move(report));
}

} // namespace ncclprobe::launch
