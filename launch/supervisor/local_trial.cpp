// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/local_trial.h"

#include "trace/spool_path.h"

#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "base/own_folder.h"
#include "launch/supervisor/environment.h"
#include "launch/supervisor/launch_ranks.h"
#include "launch/supervisor/process_state.h"
#include "launch/supervisor/trial_outcome.h"

#include <algorithm>
#include <ctime>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_kept_output_bytes = 8 * 1024; // also searched for last words
constexpr int k_lines_in_reason = 3;
// Time limit for examining all workers before they are stopped. A slow kernel may then cost some of
// the evidence.
constexpr std::chrono::milliseconds k_look_at_most{500};

// Who each of a supervisor's workers is.
std::vector<model::WorkerRecord> workers_of(const Layout& layout, int supervisor, int ranks,
                                            int devices_per_worker) {
  std::vector<model::WorkerRecord> workers;
  for (const auto& placements : layout.workers_of(supervisor, ranks, devices_per_worker)) {
    model::WorkerRecord& worker = workers.emplace_back();
    worker.host = layout.host_name(placements.front());
    for (const RankPlacement& placement : placements)
      worker.ranks.push_back(placement.rank);
  }
  return workers;
}

} // namespace

LocalTrial::LocalTrial(model::TrialSpec spec, const Layout& layout, int supervisor,
                       const SupervisorOptions& options, const ActiveClock& clock, TrialPhase phase,
                       Tell tell_leader)
    : spec_(std::move(spec)), layout_(layout.of_trial(spec_.launch_ranks)), options_(options),
      clock_(clock), tell_leader_(std::move(tell_leader)),
      state_(spec_, options_,
             workers_of(layout_, supervisor, spec_.ranks, options.devices_per_worker),
             std::move(phase), clock.now_ns()),
      handles_(state_.report.workers.size()), spawned_at_s_(std::time(nullptr)) {
  for (std::size_t worker = 0; worker < handles_.size(); ++worker)
    spawn(worker);
}

void LocalTrial::take(TrialEvent event) {
  TrialStep next = step(std::move(state_), std::move(event), clock_.now_ns());
  state_ = std::move(next.state);
  for (TrialAction& action : next.actions)
    std::visit([this](auto& one) { perform(one); }, action);
}

void LocalTrial::spawn(std::size_t worker) {
  auto give_up = [&](Trouble::Kind kind, const Error& error) {
    take(event::Failed{worker, kind, error.text()});
    take(event::Exited{worker, {}, ""});
  };
  auto command = command_of(worker);
  if (!command)
    return give_up(Trouble::Kind::skipped, command.error());
  auto handle = WorkerHandle::launch(*command);
  if (!handle)
    return give_up(Trouble::Kind::failed, handle.error());
  handles_[worker].emplace(std::move(*handle));
  model::WorkerRecord record = state_.report.workers[worker].record;
  record.pid = handles_[worker]->pid();
  record.cpus = base::format_number_list(base::allowed_cpus(record.pid));
  if (!spec_.cpu_affinity.empty())
    record.cpus_asked = base::format_number_list(command->preferred_cpus);
  take(event::Spawned{worker, std::move(record)});
}

const std::vector<int>& LocalTrial::ranks_of(std::size_t worker) const {
  return state_.report.workers[worker].record.ranks;
}

Result<ProcessCommand> LocalTrial::command_of(std::size_t worker) const {
  const WorkerProgram& program = options_.program;
  ProcessCommand command{
      program.path, program.arguments, environment_of(worker), program.affinity, {}};
  if (const model::Setting* asked = asked_program(spec_))
    command.program = asked->value;
  if (!spec_.cpu_affinity.empty()) {
    auto chosen = choose_cpus(spec_.cpu_affinity, options_.host_cpus, ranks_of(worker));
    if (!chosen)
      return with_context(chosen.error(),
                          fmt::format("{}={}", model::k_cpu_affinity, spec_.cpu_affinity));
    command.affinity = chosen->affinity;
    command.preferred_cpus = std::move(chosen->cpus);
    return command;
  }
  for (int rank : ranks_of(worker))
    if (auto found = options_.cpus_of_rank.find(rank_of_launch(spec_, rank));
        found != options_.cpus_of_rank.end())
      command.preferred_cpus.insert(command.preferred_cpus.end(), found->second.begin(),
                                    found->second.end());
  return command;
}

std::vector<std::string> LocalTrial::environment_of(std::size_t worker) const {
  std::vector<model::Setting> settings = spec_.instruments; // settings under test override them
  const std::vector<model::Setting> under_test = spec_.process.at(ranks_of(worker).front());
  settings.insert(settings.end(), under_test.begin(), under_test.end());
  return worker_environment(options_.program.environment, settings);
}

std::vector<model::Setting> LocalTrial::nccl_settings(std::size_t worker) const {
  std::vector<model::Setting> settings;
  for (const std::string& entry : environment_of(worker))
    if (entry.starts_with("NCCL_"))
      settings.push_back({entry.substr(0, entry.find('=')), entry.substr(entry.find('=') + 1)});
  return settings;
}

std::filesystem::path LocalTrial::spool_of(std::size_t worker) const {
  return trace::spool_path(spec_.trace_folder, spec_.id, ranks_of(worker).front());
}

void LocalTrial::watch(std::vector<pollfd>& into) {
  for (auto& handle : handles_)
    if (handle)
      handle->watch(into);
}

void LocalTrial::serve(const std::vector<pollfd>& polled) {
  for (std::size_t worker = 0; worker < handles_.size(); ++worker)
    if (handles_[worker])
      hear(worker, handles_[worker]->serve(polled));
  take(event::Tick{});
  if (!state_.over() &&
      std::ranges::all_of(handles_, [](const auto& handle) { return !handle || handle->over(); }))
    take(event::AllGone{});
}

void LocalTrial::hear(std::size_t worker, std::vector<WorkerEvent> events) {
  for (WorkerEvent& event : events)
    if (auto* message = std::get_if<wire::Message>(&event))
      take(event::Said{worker, std::move(*message)});
    else if (auto* error = std::get_if<Error>(&event))
      take(event::Broke{worker, error->text()});
    else
      take(event::Exited{
          worker, std::get<ExitStatus>(event),
          last_lines(handles_[worker]->output_tail(k_kept_output_bytes), k_lines_in_reason)});
}

// Events from before the stop count: a peer's crash may be the reason for the stop.
void LocalTrial::stop(const StopOrder& order) {
  for (std::size_t worker = 0; worker < handles_.size(); ++worker)
    if (handles_[worker])
      hear(worker, handles_[worker]->serve());
  take(event::StopAsked{order});
}

void LocalTrial::perform(const action::Start& start) {
  wire::Start order{spec_, {}, layout_.host_of_rank(), {}};
  order.host_of_rank.resize(spec_.ranks);
  for (int rank : ranks_of(start.worker))
    order.ranks.push_back({rank, layout_.placements[rank].device});
  if (spec_.trace != model::TraceLevel::off) {
    std::filesystem::path folder = spec_.trace_folder; // exists only on the leader's host
    std::error_code none;                              // the next call reports errors
    std::filesystem::create_directories(folder.parent_path(), none);
    if (auto made = base::make_own_folder(folder); !made)
      return take(event::Failed{start.worker, Trouble::Kind::failed, made.error().text()});
    order.spool = spool_of(start.worker);
    std::filesystem::remove(order.spool, none); // from an earlier run
  }
  perform(action::Send{start.worker, std::move(order)});
}

void LocalTrial::perform(const action::Send& send) {
  if (auto& handle = handles_[send.worker])
    handle->send({-1, send.body});
}

void LocalTrial::perform(const action::Examine&) {
  base::Deadline looked_by = base::Deadline::after(k_look_at_most);
  for (std::size_t worker = 0; worker < handles_.size(); ++worker) {
    if (!handles_[worker] || handles_[worker]->ended() || looked_by.expired())
      continue;
    ProcessState now = look_at_process(handles_[worker]->pid());
    take(event::Examined{worker, std::move(now.state), std::move(now.threads)});
  }
}

void LocalTrial::perform(const action::Stop& stop) {
  const StopLadder ladder =
      stop.haste == Haste::fast
          ? fast_stop_ladder()
          : stop_ladder(options_.stop_wait, options_.term_wait, options_.kill_wait);
  for (auto& handle : handles_)
    if (handle && !handle->ended())
      handle->stop(ladder);
}

void LocalTrial::perform(action::Report& action) {
  for (std::size_t worker = 0; worker < handles_.size(); ++worker) {
    const auto& handle = handles_[worker];
    WorkerReport& one = action.report.workers[worker];
    if (!handle) {
      one.record.exit = "not started";
      continue;
    }
    one.lost = handle->lost();
    if (action.ended_early)
      one.nccl_settings = nccl_settings(worker);
    one.record.exit = handle->exit() ? handle->exit()->text() : "still alive after SIGKILL";
    if (handle->exit())
      one.record.peak_memory_bytes = handle->exit()->peak_memory_bytes;
    if (handle->stopped() && handle->exit())
      one.record.exit = "stopped: " + one.record.exit;
    one.record.output_tail = handle->output_tail(k_kept_output_bytes);
  }
  tell_leader_(std::move(action.report));
}

void LocalTrial::perform(const action::RemoveSpools&) {
  std::error_code none;
  if (spec_.trace != model::TraceLevel::off)
    for (std::size_t worker = 0; worker < handles_.size(); ++worker)
      std::filesystem::remove(spool_of(worker), none);
}

std::string LocalTrial::lost_workers() const {
  std::string words;
  for (std::size_t worker = 0; worker < handles_.size(); ++worker)
    if (handles_[worker] && handles_[worker]->lost())
      words += (words.empty() ? "" : "; ") + describe_lost(state_.report.workers[worker].record);
  return words;
}

bool LocalTrial::untidy() const {
  return std::ranges::any_of(handles_, [](const auto& handle) {
    return handle && (handle->stopped() || !handle->exit() || !handle->exit()->clean());
  });
}

std::vector<pid_t> LocalTrial::pids() const {
  std::vector<pid_t> pids;
  for (const auto& handle : handles_)
    if (handle && !handle->ended())
      pids.push_back(handle->pid());
  return pids;
}

bool LocalTrial::ending() const {
  return state_.in<phase::Asking>() || std::ranges::any_of(handles_, [](const auto& handle) {
           return handle && handle->ending();
         });
}

} // namespace ncclprobe::launch
