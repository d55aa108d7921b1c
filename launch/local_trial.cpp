// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/local_trial.h"

#include "trace/spool_path.h"

#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "base/own_folder.h"
#include "base/version.h"
#include "launch/environment.h"
#include "launch/verdict.h"

#include <algorithm>
#include <ctime>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_searched_bytes = 8 * 1024; // of output, for last words
constexpr int k_lines_in_reason = 3;

bool is_meeting_of_all(const std::string& exchange_key) {
  return exchange_key == wire::k_measure_key || exchange_key == wire::k_leave_key;
}

// Null: ours.
const model::Setting* asked_program(const model::TrialSpec& spec) {
  auto found = std::ranges::find(spec.libraries, model::k_worker_program, &model::Setting::name);
  return found == spec.libraries.end() ? nullptr : &*found;
}

} // namespace

LocalTrial::LocalTrial(model::TrialSpec spec, const Layout& layout, int supervisor,
                       const SupervisorOptions& options, Standing standing, Tell tell_leader)
    : spec_(std::move(spec)), options_(options), standing_(standing),
      tell_leader_(std::move(tell_leader)), host_of_rank_(layout.host_of_rank()),
      host_names_(layout.hosts), prepared_by_(base::Deadline::after(options.prepare_patience)) {
  host_of_rank_.resize(static_cast<std::size_t>(spec_.ranks));
  for (auto& seats : layout.workers_of(supervisor, spec_.ranks, options.seats_per_worker))
    workers_.emplace_back().seats = std::move(seats);
  spawn();
}

void LocalTrial::spawn() {
  spawned_ns_ = base::monotonic_ns();
  spawned_at_s_ = std::time(nullptr);
  for (Worker& worker : workers_) {
    for (const RankSeat& seat : worker.seats)
      watches_.try_emplace(seat.rank, seat.rank, spec_);
    spawn(worker);
  }
}

void LocalTrial::spawn(Worker& worker) {
  auto give_up = [&](Trouble::Kind kind, const base::Error& error) {
    for (RankWatch* watch : watches_of(worker))
      watch->on_exit();
    tell_trouble(worker, kind, error.text(), ranks_of(worker));
  };
  auto command = command_of(worker);
  if (!command)
    return give_up(Trouble::Kind::skipped, command.error());
  if (!spec_.cpu_affinity.empty())
    worker.cpus_asked = base::format_number_list(command->preferred_cpus);
  auto handle = WorkerHandle::launch(*command);
  if (!handle)
    return give_up(Trouble::Kind::failed, handle.error());
  worker.handle.emplace(std::move(*handle));
  worker.cpus = base::format_number_list(base::allowed_cpus(worker.handle->pid()));
}

base::Result<Command> LocalTrial::command_of(const Worker& worker) const {
  const WorkerProgram& program = options_.program;
  Command command{program.path, program.arguments, environment_of(worker), program.affinity, {}};
  if (const model::Setting* asked = asked_program(spec_))
    command.program = asked->value;
  if (!spec_.cpu_affinity.empty()) {
    auto chosen = choose_cpus(spec_.cpu_affinity, options_.host_cpus, ranks_of(worker));
    if (!chosen)
      return base::with_context(chosen.error(),
                                fmt::format("{}={}", model::k_cpu_affinity, spec_.cpu_affinity));
    command.affinity = chosen->affinity;
    command.preferred_cpus = std::move(chosen->cpus);
    return command;
  }
  for (const RankSeat& seat : worker.seats)
    if (auto found = options_.cpus_of_rank.find(seat.rank); found != options_.cpus_of_rank.end())
      command.preferred_cpus.insert(command.preferred_cpus.end(), found->second.begin(),
                                    found->second.end());
  return command;
}

std::vector<std::string> LocalTrial::environment_of(const Worker& worker) const {
  std::vector<model::Setting> settings = spec_.instruments; // what is under test goes before them
  const std::vector<model::Setting> under_test = spec_.process.at(worker.seats.front().rank);
  settings.insert(settings.end(), under_test.begin(), under_test.end());
  return worker_environment(options_.program.environment, settings);
}

std::vector<int> LocalTrial::ranks_of(const Worker& worker) const {
  std::vector<int> ranks;
  for (const RankSeat& seat : worker.seats)
    ranks.push_back(seat.rank);
  return ranks;
}

std::vector<RankWatch*> LocalTrial::watches_of(const Worker& worker) {
  std::vector<RankWatch*> watches;
  for (const RankSeat& seat : worker.seats)
    watches.push_back(&watches_.at(seat.rank));
  return watches;
}

void LocalTrial::watch(std::vector<pollfd>& into) {
  for (Worker& worker : workers_)
    if (worker.handle)
      worker.handle->watch(into);
}

void LocalTrial::serve(const std::vector<pollfd>& polled) {
  for (Worker& worker : workers_)
    if (worker.handle)
      for (WorkerEvent& event : worker.handle->serve(polled))
        hear(worker, std::move(event));
  if (!stopping_) {
    look_at_deadlines();
    if (standing_ == Standing::ordered)
      tell_progress();
  }
  if (asking_until_) {
    bool heard_all = std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
      return !worker.handle || worker.handle->ended() || worker.answered;
    });
    if (heard_all || asking_until_->expired())
      end_asking();
  }
  tell_of_life();
  report_if_over();
}

void LocalTrial::promote() {
  standing_ = Standing::ordered;
  was_prepared_ = true;
  spawned_ns_ = base::monotonic_ns();
  for (auto& [rank, watch] : watches_)
    watch.go_on();
  for (auto& [key, pending] : exchanges_)
    if (key != wire::k_measure_key && complete(key))
      pass_on(pending);
}

void LocalTrial::discard(Haste haste) {
  discarded_ = true;
  stop({haste, Ask::no});
}

bool LocalTrial::complete(const std::string& key) const {
  auto found = exchanges_.find(key);
  return found != exchanges_.end() &&
         found->second.exchange.contributions.size() == found->second.expected;
}

bool LocalTrial::at_turn() const {
  return complete(wire::k_turn_key);
}

bool LocalTrial::opened() const {
  return std::all_of(watches_.begin(), watches_.end(),
                     [](const auto& entry) { return entry.second.opened(); });
}

bool LocalTrial::at_measure_gate() const {
  return complete(wire::k_measure_key) && !measure_gate_open_;
}

void LocalTrial::open_measure_gate() {
  measure_gate_open_ = true;
  if (complete(wire::k_measure_key))
    pass_on(exchanges_.at(wire::k_measure_key));
}

bool LocalTrial::past_measure_gate() const {
  return measure_gate_open_ || std::any_of(watches_.begin(), watches_.end(), [](const auto& entry) {
           return entry.second.started();
         });
}

bool LocalTrial::waits_for_exchange() const {
  return std::any_of(exchanges_.begin(), exchanges_.end(),
                     [](const auto& entry) { return entry.second.sent; });
}

std::string LocalTrial::lost_workers() const {
  std::string words;
  for (const Worker& worker : workers_)
    if (worker.handle && worker.handle->lost())
      words += (words.empty() ? "" : "; ") + describe_lost(who_is(worker));
  return words;
}

bool LocalTrial::untidy() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
    return worker.handle &&
           (worker.handle->stopped() || !worker.handle->exit() || !worker.handle->exit()->clean());
  });
}

std::vector<pid_t> LocalTrial::pids() const {
  std::vector<pid_t> pids;
  for (const Worker& worker : workers_)
    if (worker.handle && !worker.handle->ended())
      pids.push_back(worker.handle->pid());
  return pids;
}

void LocalTrial::hear(Worker& worker, WorkerEvent event) {
  if (asking_until_) { // only one thing is of interest now
    auto* message = std::get_if<wire::Message>(&event);
    if (message == nullptr)
      worker.answered = true; // ended, or will not say
    else if (auto* position = std::get_if<wire::Position>(&message->body))
      hear_position(worker, std::move(*position));
    return;
  }
  if (auto* message = std::get_if<wire::Message>(&event))
    hear_message(worker, std::move(*message));
  else if (auto* error = std::get_if<base::Error>(&event))
    break_protocol(worker, error->text());
  else
    hear_exit(worker, std::get<ExitStatus>(event));
}

void LocalTrial::hear_message(Worker& worker, wire::Message message) {
  std::vector<RankWatch*> watches = watches_of(worker);
  if (message.rank != -1) {
    std::erase_if(watches, [&](RankWatch* w) { return w->report().rank != message.rank; });
    if (watches.empty())
      return break_protocol(
          worker, fmt::format("spoke for rank {}, which it does not drive", message.rank));
  }
  auto to_all = [&](auto&& deliver) {
    for (RankWatch* watch : watches)
      if (auto wrong = deliver(*watch))
        return break_protocol(worker, *wrong);
  };
  if (auto* hello = std::get_if<wire::Hello>(&message.body)) {
    // Another build than ours may be under test, but what a trial is must mean the same to both.
    if (hello->version != base::version() && asked_program(spec_) != nullptr)
      return tell_trouble(worker, Trouble::Kind::failed,
                          fmt::format("{} is of ncclprobe {}, and this is {}: only workers of the "
                                      "same version can be compared",
                                      asked_program(spec_)->value, hello->version, base::version()),
                          ranks_of(worker));
    wire::Start start{spec_, {}, host_of_rank_, {}};
    for (const RankSeat& seat : worker.seats)
      start.seats.push_back({seat.rank, seat.device});
    if (spec_.trace != model::TraceLevel::off) {
      std::filesystem::path folder = spec_.trace_folder; // there only on the leader's host
      std::error_code none;                              // what is wrong is told next
      std::filesystem::create_directories(folder.parent_path(), none);
      if (auto made = base::make_own_folder(folder); !made)
        return tell_trouble(worker, Trouble::Kind::failed, made.error().text(), ranks_of(worker));
      remove_spool(worker); // of a run before this one
      start.spool = spool_of(worker);
    }
    worker.handle->send({-1, std::move(start)});
    to_all([](RankWatch& watch) { return watch.on_hello(); });
  } else if (auto* phase = std::get_if<wire::Phase>(&message.body)) {
    to_all([&](RankWatch& watch) { return watch.on_phase(*phase); });
  } else if (auto* exchange = std::get_if<wire::Exchange>(&message.body)) {
    contribute(worker, std::move(*exchange));
  } else if (auto* end = std::get_if<wire::CellEnd>(&message.body)) {
    if (watches.size() > 1)
      return break_protocol(worker, "ended a cell without naming the rank");
    to_all([&](RankWatch& watch) { return watch.on_cell_end(std::move(*end)); });
  } else if (auto* evidence = std::get_if<wire::Evidence>(&message.body)) {
    if (watches.size() > 1)
      return break_protocol(worker, "sent evidence without naming the rank");
    to_all([&](RankWatch& watch) { return watch.on_evidence(std::move(evidence->evidence)); });
  } else if (auto* loaded = std::get_if<wire::Loaded>(&message.body)) {
    worker.libraries = std::move(loaded->libraries);
    worker.memory = std::move(loaded->memory);
    if (!loaded->cpus.empty())
      worker.cpus = std::move(loaded->cpus);
  } else if (auto* failure = std::get_if<wire::Failure>(&message.body)) {
    worker.said_why = true;
    bool skipped = failure->outcome.kind == model::OutcomeKind::skipped;
    std::vector<int> ranks = ranks_of(worker);
    if (message.rank != -1)
      ranks = {message.rank};
    tell_trouble(worker, skipped ? Trouble::Kind::skipped : Trouble::Kind::failed,
                 failure->outcome.reason, std::move(ranks));
  } else if (std::holds_alternative<wire::Done>(message.body)) {
    to_all([](RankWatch& watch) { return watch.on_done(); });
  } else {
    break_protocol(worker, "sent a message that only a supervisor sends");
  }
  bool all_started = std::all_of(watches_.begin(), watches_.end(),
                                 [](const auto& entry) { return entry.second.started(); });
  if (startup_ns_ == 0 && all_started)
    startup_ns_ = base::monotonic_ns() - spawned_ns_;
  bool all_done = std::all_of(watches_.begin(), watches_.end(),
                              [](const auto& entry) { return entry.second.done(); });
  if (all_done && !std::exchange(told_finished_, true))
    tell_leader_(Finished{});
}

void LocalTrial::hear_exit(Worker& worker, const ExitStatus& status) {
  std::vector<RankWatch*> watches = watches_of(worker);
  bool done = std::all_of(watches.begin(), watches.end(), [](RankWatch* w) { return w->done(); });
  if (!(done && status.clean()) && !worker.said_why) {
    std::string reason = "ended with " + status.text();
    std::string words = last_lines(worker.handle->output_tail(k_searched_bytes), k_lines_in_reason);
    if (!words.empty())
      reason += ", its last words: " + words;
    tell_trouble(worker,
                 status.how == ExitStatus::How::signalled ? Trouble::Kind::signalled
                                                          : Trouble::Kind::exited,
                 std::move(reason), ranks_of(worker));
  }
  for (RankWatch* watch : watches)
    watch->on_exit();
}

void LocalTrial::contribute(Worker& worker, wire::Exchange exchange) {
  auto is_member = [&](int rank) {
    return std::find(exchange.members.begin(), exchange.members.end(), rank) !=
           exchange.members.end();
  };
  for (int member : exchange.members)
    if (member < 0 || member >= spec_.ranks)
      return break_protocol(worker,
                            fmt::format("exchange '{}' has a member {}", exchange.key, member));
  std::vector<int> own = ranks_of(worker);
  for (const auto& [rank, bytes] : exchange.contributions)
    if (!is_member(rank) || std::find(own.begin(), own.end(), rank) == own.end())
      return break_protocol(
          worker, fmt::format("contributed to exchange '{}' for rank {}", exchange.key, rank));

  PendingExchange& pending = exchanges_[exchange.key];
  if (pending.exchange.key.empty()) {
    pending.exchange = {exchange.key, exchange.members, {}};
    for (const auto& [rank, watch] : watches_)
      pending.expected += is_member(rank) ? 1U : 0U;
  }
  if (pending.exchange.members != exchange.members)
    return break_protocol(worker, fmt::format("has other members for exchange '{}'", exchange.key));
  for (auto& [rank, bytes] : exchange.contributions)
    if (!pending.exchange.contributions.try_emplace(rank, std::move(bytes)).second)
      return break_protocol(worker,
                            fmt::format("contributed to exchange '{}' twice", exchange.key));
  // What it waits for from here on is not its own doing, and has a limit of its own.
  if (is_meeting_of_all(exchange.key))
    for (RankWatch* watch : watches_of(worker))
      watch->hold();
  bool kept = standing_ == Standing::prepared ||
              (exchange.key == wire::k_measure_key && !measure_gate_open_);
  if (!kept && complete(exchange.key))
    pass_on(pending);
}

void LocalTrial::pass_on(PendingExchange& pending) {
  if (std::exchange(pending.sent, true))
    return;
  const bool leaving = pending.exchange.key == wire::k_leave_key;
  pending.due = base::Deadline::after(
      std::chrono::nanoseconds(leaving ? spec_.teardown_deadline_ns : spec_.startup_deadline_ns));
  tell_leader_(ExchangePart{pending.exchange});
}

void LocalTrial::deliver(const wire::Exchange& whole) {
  if (exchanges_.erase(whole.key) == 0)
    return;
  if (is_meeting_of_all(whole.key))
    for (auto& [rank, watch] : watches_)
      watch.go_on();
  for (Worker& worker : workers_) {
    auto drives = [&](int rank) {
      return std::any_of(worker.seats.begin(), worker.seats.end(),
                         [&](const RankSeat& seat) { return seat.rank == rank; });
    };
    if (worker.handle && std::any_of(whole.members.begin(), whole.members.end(), drives))
      worker.handle->send({-1, whole});
  }
}

void LocalTrial::break_protocol(Worker& worker, const std::string& what) {
  tell_trouble(worker, Trouble::Kind::failed, "does not follow the worker protocol: " + what,
               ranks_of(worker));
}

void LocalTrial::tell_trouble(Worker& worker, Trouble::Kind kind, std::string reason,
                              std::vector<int> ranks) {
  if (std::exchange(worker.troubled, true))
    return;
  if (standing_ == Standing::prepared) {
    spoilt_ = fmt::format("rank(s) {}: {}", model::format_ranks(ranks), reason);
    return;
  }
  await_answer();
  const RankWatch& watch = watches_.at(ranks.front());
  tell_leader_(Trouble{kind, std::move(reason), std::move(ranks), watch.report().phase,
                       watch.current_cell(), 0});
}

void LocalTrial::look_at_deadlines() {
  if (standing_ == Standing::prepared) {
    if (!at_turn() && prepared_by_.expired() && spoilt_.empty())
      spoilt_ = fmt::format("not prepared within {} ms", options_.prepare_patience.count());
    return;
  }
  if (timed_out_)
    return;
  Trouble trouble;
  for (const auto& [rank, watch] : watches_) {
    if (!watch.late())
      continue;
    timed_out_ = true;
    bool first = trouble.ranks.empty();
    trouble.ranks.push_back(rank);
    if (!first)
      continue;
    trouble.kind = Trouble::Kind::timed_out;
    trouble.phase = watch.report().phase;
    trouble.cell = watch.current_cell();
    trouble.limit_ns = watch.limit_ns();
  }
  if (!timed_out_)
    return;
  await_answer();
  tell_leader_(std::move(trouble));
}

bool LocalTrial::ending() const {
  return asking_until_ || std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
           return worker.handle && worker.handle->ending();
         });
}

bool LocalTrial::measuring() const {
  return std::all_of(watches_.begin(), watches_.end(),
                     [](const auto& entry) { return entry.second.measuring(); });
}

std::filesystem::path LocalTrial::spool_of(const Worker& worker) const {
  return trace::spool_path(spec_.trace_folder, spec_.id, worker.seats.front().rank);
}

void LocalTrial::remove_spool(const Worker& worker) const {
  std::error_code none;
  if (spec_.trace != model::TraceLevel::off)
    std::filesystem::remove(spool_of(worker), none);
}

} // namespace ncclprobe::launch
