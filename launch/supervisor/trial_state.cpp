// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/trial_state.h"

#include "base/name_ranks.h"
#include "base/version.h"
#include "launch/supervisor/heartbeats.h"

#include <climits>

#include <algorithm>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t k_kept_stack_bytes = 8 * 1024;
// Progress is for people. A message may disturb somebody's measurement.
constexpr std::chrono::nanoseconds k_progress_interval = 250ms;

bool is_barrier(const std::string& exchange_key) {
  return exchange_key == wire::k_measure_key || exchange_key == wire::k_leave_key;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

template <typename Holds>
bool all_ranks(const TrialState& state, Holds holds) {
  return std::ranges::all_of(state.watches,
                             [&](const auto& entry) { return std::invoke(holds, entry.second); });
}

// The way from one state to the next.
class Transition {
public:
  Transition(TrialState& state, std::int64_t now_ns) : state_(state), now_ns_(now_ns) {}
  std::vector<TrialAction> take_actions() { return std::move(actions_); }

  void on(event::Spawned& spawned) { record_of(spawned.worker) = std::move(spawned.record); }

  void on(event::Failed& failed) {
    if (!asking(failed.worker))
      trouble(failed.worker, failed.kind, std::move(failed.reason), ranks_of(failed.worker));
  }

  void on(event::Broke& broke) {
    if (!asking(broke.worker))
      break_protocol(broke.worker, broke.what);
  }

  void on(event::Said& said) {
    auto* position = std::get_if<wire::Position>(&said.message.body);
    if (state_.in<phase::Asking>() && position == nullptr)
      return; // only one event matters now
    if (asking(said.worker)) {
      record_of(said.worker).position = std::move(position->position);
      record_of(said.worker).stack = position->stack.substr(0, k_kept_stack_bytes);
      return;
    }
    const bool all_were_started = all_ranks(state_, &RankWatch::started);
    const bool all_were_done = all_ranks(state_, &RankWatch::done);
    hear(said.worker, std::move(said.message));
    if (!all_were_started && all_ranks(state_, &RankWatch::started))
      state_.report.startup_ns = now_ns_ - state_.begun_ns;
    if (!all_were_done && all_ranks(state_, &RankWatch::done))
      act(action::Tell{Finished{}});
  }

  void on(event::Exited& exited) {
    state_.ended.insert(exited.worker);
    if (asking(exited.worker))
      return;
    std::vector<RankWatch*> watches = watches_of(ranks_of(exited.worker));
    if (!(std::ranges::all_of(watches, &RankWatch::done) && exited.status.clean())) {
      std::string reason = "ended with " + exited.status.text();
      if (!exited.last_words.empty())
        reason += ", its last output: " + exited.last_words;
      bool signalled = exited.status.how == ExitStatus::How::signalled;
      trouble(exited.worker, signalled ? Trouble::Kind::signalled : Trouble::Kind::exited,
              std::move(reason), ranks_of(exited.worker));
    }
    for (RankWatch* watch : watches)
      watch->on_exit();
  }

  void on(event::Examined& examined) {
    state_.report.workers[examined.worker].state = std::move(examined.state);
    if (std::string& stack = record_of(examined.worker).stack; stack.empty())
      stack = examined.stack.substr(0, k_kept_stack_bytes);
  }

  void on(event::AllGone&) {
    if (in_any<phase::Prepared, phase::Spoilt, phase::Discarding>())
      act(action::RemoveSpools{}); // the leader does not know about it
    else
      report();
    state_.phase = phase::Over{};
  }

  void on(event::Tick&) {
    if (auto* prepared = std::get_if<phase::Prepared>(&state_.phase)) {
      if (!state_.at_turn() && now_ns_ >= prepared->due_ns)
        state_.phase = phase::Spoilt{
            fmt::format("not prepared within {} ms", state_.options->prepare_patience.count())};
    } else if (state_.in<phase::Running>()) {
      look_at_deadlines();
      tell_progress();
    } else if (auto* asking = std::get_if<phase::Asking>(&state_.phase)) {
      if (now_ns_ >= asking->until_ns)
        end_asking();
    }
    if (in_any<phase::Failing, phase::Asking, phase::Stopping>() &&
        now_ns_ >= state_.next_heartbeat_ns) {
      state_.next_heartbeat_ns = in(k_heartbeat_interval);
      act(action::Tell{Heartbeat{}});
    }
  }

  void on(event::Promoted&) {
    state_.phase = phase::Running{};
    state_.report.prepared = true;
    state_.begun_ns = now_ns_;
    for (auto& [rank, watch] : state_.watches)
      watch.go_on(now_ns_);
    for (auto& [key, pending] : state_.exchanges)
      pass_on_if_due(pending);
  }

  void on(event::Discarded& discarded) {
    if (state_.over())
      return;
    state_.phase = phase::Discarding{};
    state_.exchanges.clear();
    act(action::Stop{discarded.haste});
  }

  void on(event::MeasureGateOpened&) {
    state_.measure_gate_open = true;
    if (auto found = state_.exchanges.find(wire::k_measure_key); found != state_.exchanges.end())
      pass_on_if_due(found->second);
  }

  void on(event::Delivered& delivered) {
    const wire::Exchange& whole = delivered.whole;
    if (state_.exchanges.erase(whole.key) == 0)
      return;
    if (is_barrier(whole.key))
      for (auto& [rank, watch] : state_.watches)
        watch.go_on(now_ns_);
    for (std::size_t worker = 0; worker < state_.report.workers.size(); ++worker)
      if (std::ranges::any_of(ranks_of(worker),
                              [&](int rank) { return contains(whole.members, rank); }))
        act(action::Send{worker, whole});
  }

  void on(event::StopAsked& asked) {
    if (!in_any<phase::Running, phase::Failing, phase::Asking, phase::Stopping>())
      return;
    const bool hurry = asked.order.haste == Haste::fast;
    if (in_any<phase::Running, phase::Failing>() && asked.order.ask == Ask::yes && !hurry)
      ask_where();
    else if (hurry || !state_.in<phase::Asking>())
      stop(asked.order.haste);
    state_.exchanges.clear();
  }

  void on(event::LeaderAnswered&) { state_.leader_lost_ns.reset(); }

  void on(event::LeaderHeard&) {
    if (state_.leader_lost_ns)
      state_.leader_lost_ns = in(state_.options->leader_silence);
    for (auto& [key, pending] : state_.exchanges)
      if (pending.due_ns && now_ns_ >= *pending.due_ns)
        pending.due_ns = in(state_.options->leader_patience);
  }

private:
  template <typename... Phases>
  bool in_any() const {
    return (state_.in<Phases>() || ...);
  }
  std::int64_t in(std::chrono::nanoseconds wait) const { return now_ns_ + wait.count(); }
  void act(TrialAction action) { actions_.push_back(std::move(action)); }

  model::WorkerRecord& record_of(std::size_t worker) {
    return state_.report.workers[worker].record;
  }
  const std::vector<int>& ranks_of(std::size_t worker) { return record_of(worker).ranks; }
  std::vector<RankWatch*> watches_of(const std::vector<int>& ranks) {
    std::vector<RankWatch*> watches;
    for (int rank : ranks)
      watches.push_back(&state_.watches.at(rank));
    return watches;
  }

  void hear(std::size_t worker, wire::Message message) {
    std::vector<RankWatch*> watches = watches_of(ranks_of(worker));
    if (message.rank != -1) {
      std::erase_if(watches, [&](RankWatch* w) { return w->report().rank != message.rank; });
      if (watches.empty())
        return break_protocol(
            worker,
            fmt::format("sent a message for rank {}, which it does not drive", message.rank));
    }
    auto to_all = [&](auto&& deliver) {
      for (RankWatch* watch : watches)
        if (auto wrong = deliver(*watch))
          return break_protocol(worker, *wrong);
    };
    if (auto* hello = std::get_if<wire::Hello>(&message.body)) {
      hear_hello(worker, *hello);
    } else if (auto* phase = std::get_if<wire::Phase>(&message.body)) {
      to_all([&](RankWatch& watch) { return watch.on_phase(*phase, now_ns_); });
    } else if (auto* exchange = std::get_if<wire::Exchange>(&message.body)) {
      contribute(worker, std::move(*exchange));
    } else if (auto* end = std::get_if<wire::CellEnd>(&message.body)) {
      if (watches.size() > 1)
        return break_protocol(worker, "ended a cell without naming the rank");
      to_all([&](RankWatch& watch) { return watch.on_cell_end(std::move(*end), now_ns_); });
    } else if (auto* evidence = std::get_if<wire::Evidence>(&message.body)) {
      if (watches.size() > 1)
        return break_protocol(worker, "sent evidence without naming the rank");
      to_all([&](RankWatch& watch) { return watch.on_evidence(std::move(evidence->evidence)); });
    } else if (auto* loaded = std::get_if<wire::Loaded>(&message.body)) {
      model::WorkerRecord& record = record_of(worker);
      record.libraries = std::move(loaded->libraries);
      record.memory = std::move(loaded->memory);
      if (!loaded->cpus.empty())
        record.cpus = std::move(loaded->cpus);
    } else if (auto* failure = std::get_if<wire::Failure>(&message.body)) {
      bool skipped = failure->outcome.kind == model::OutcomeKind::skipped;
      trouble(worker, skipped ? Trouble::Kind::skipped : Trouble::Kind::failed,
              std::move(failure->outcome.reason),
              message.rank == -1 ? ranks_of(worker) : std::vector<int>{message.rank},
              failure->peer_ended);
    } else if (std::holds_alternative<wire::Done>(message.body)) {
      to_all([&](RankWatch& watch) { return watch.on_done(now_ns_); });
    } else {
      break_protocol(worker, "sent a message that only a supervisor sends");
    }
  }

  void hear_hello(std::size_t worker, const wire::Hello& hello) {
    // The build under test may differ from ours, but both must have the same protocol and version.
    const model::Setting* asked = asked_program(*state_.spec);
    if (hello.version != base::version() && asked != nullptr)
      return trouble(worker, Trouble::Kind::failed,
                     fmt::format("{} is of ncclprobe {}, and this is {}: only workers of the "
                                 "same version can be compared",
                                 asked->value, hello.version, base::version()),
                     ranks_of(worker));
    for (RankWatch* watch : watches_of(ranks_of(worker)))
      if (auto wrong = watch->on_hello())
        return break_protocol(worker, *wrong);
    act(action::Start{worker});
  }

  void contribute(std::size_t worker, wire::Exchange exchange) {
    for (int member : exchange.members)
      if (member < 0 || member >= state_.spec->ranks)
        return break_protocol(worker,
                              fmt::format("exchange '{}' has a member {}", exchange.key, member));
    for (const auto& [rank, bytes] : exchange.contributions)
      if (!contains(exchange.members, rank) || !contains(ranks_of(worker), rank))
        return break_protocol(
            worker, fmt::format("contributed to exchange '{}' for rank {}", exchange.key, rank));

    PendingExchange& pending = state_.exchanges[exchange.key];
    if (pending.exchange.key.empty()) {
      pending.exchange = {exchange.key, exchange.members, {}};
      for (const auto& [rank, watch] : state_.watches)
        pending.expected += contains(exchange.members, rank) ? 1U : 0U;
    }
    if (pending.exchange.members != exchange.members)
      return break_protocol(worker,
                            fmt::format("has other members for exchange '{}'", exchange.key));
    for (auto& [rank, bytes] : exchange.contributions)
      if (!pending.exchange.contributions.try_emplace(rank, std::move(bytes)).second)
        return break_protocol(worker,
                              fmt::format("contributed to exchange '{}' twice", exchange.key));
    // From here on the rank waits for others, which have a limit of their own.
    if (is_barrier(exchange.key))
      for (RankWatch* watch : watches_of(ranks_of(worker)))
        watch->hold();
    pass_on_if_due(pending);
  }

  // Sends it to the leader, once all our ranks have contributed and no gate holds it back.
  void pass_on_if_due(PendingExchange& pending) {
    const std::string& key = pending.exchange.key;
    const bool kept = in_any<phase::Prepared, phase::Spoilt>() ||
                      (key == wire::k_measure_key && !state_.measure_gate_open);
    if (kept || pending.due_ns || !pending.complete())
      return;
    pending.due_ns = now_ns_ + (key == wire::k_leave_key ? state_.spec->teardown_deadline_ns
                                                         : state_.spec->startup_deadline_ns);
    act(action::Tell{ExchangePart{pending.exchange}});
  }

  void break_protocol(std::size_t worker, const std::string& what) {
    trouble(worker, Trouble::Kind::failed, "does not follow the worker protocol: " + what,
            ranks_of(worker));
  }

  void trouble(std::size_t worker, Trouble::Kind kind, std::string reason, std::vector<int> ranks,
               bool peer_ended = false) {
    if (!state_.troubled.insert(worker).second)
      return;
    const RankWatch& watch = state_.watches.at(ranks.front());
    if (state_.in<phase::Prepared>())
      state_.phase = phase::Spoilt{base::name_ranks(ranks) + ": " + reason};
    else if (in_any<phase::Running, phase::Failing>())
      fail(Ask::no, {kind, std::move(reason), std::move(ranks), watch.report().phase,
                     watch.current_cell(), 0, peer_ended});
  }

  void fail(Ask ask, Trouble trouble) {
    if (auto* failing = std::get_if<phase::Failing>(&state_.phase))
      ask = std::max(ask, failing->ask);
    state_.phase = phase::Failing{ask, in(state_.options->cut_off_after)};
    state_.leader_lost_ns = in(state_.options->leader_silence);
    act(action::Tell{std::move(trouble)});
  }

  // Ranks that are late together are reported together, with the place of the first.
  void look_at_deadlines() {
    Trouble trouble;
    for (const auto& [rank, watch] : state_.watches) {
      if (!watch.late(now_ns_))
        continue;
      if (trouble.ranks.empty())
        trouble = {Trouble::Kind::timed_out, "", {}, watch.report().phase, watch.current_cell(),
                   watch.limit_ns()};
      trouble.ranks.push_back(rank);
    }
    if (!trouble.ranks.empty())
      fail(Ask::yes, std::move(trouble));
  }

  void tell_progress() {
    if (state_.watches.empty() || now_ns_ < state_.next_progress_ns)
      return;
    ProgressNote note{.cells_done = INT_MAX};
    for (const auto& [rank, watch] : state_.watches)
      note = std::min(note, ProgressNote{watch.cells_ended(), watch.report().phase});
    if (note == state_.told)
      return;
    state_.told = note;
    state_.next_progress_ns = in(k_progress_interval);
    act(action::Tell{std::move(note)});
  }

  void ask_where() {
    phase::Asking asking{in(state_.options->where_wait), {}};
    for (std::size_t worker = 0; worker < state_.report.workers.size(); ++worker) {
      for (const auto& [key, pending] : state_.exchanges)
        if (pending.exchange.contributions.contains(ranks_of(worker).front()))
          state_.report.workers[worker].waits_in = key;
      if (!state_.ended.contains(worker)) {
        asking.silent.insert(worker);
        act(action::Send{worker, wire::Where{}});
      }
    }
    const bool all_ended = asking.silent.empty();
    state_.phase = std::move(asking);
    if (all_ended)
      end_asking();
  }

  // True in the phase Asking, which then no longer waits for this worker.
  bool asking(std::size_t answered) {
    auto* asking = std::get_if<phase::Asking>(&state_.phase);
    if (asking == nullptr)
      return false;
    asking->silent.erase(answered);
    if (asking->silent.empty())
      end_asking();
    return true;
  }

  // The kernel's view is read before anything is killed.
  void end_asking() {
    act(action::Examine{});
    stop(Haste::normal);
  }

  void stop(Haste haste) {
    state_.phase = phase::Stopping{};
    act(action::Stop{haste});
  }

  void report() {
    TrialReport whole = state_.report;
    for (WorkerReport& worker : whole.workers) {
      std::vector<RankWatch*> watches = watches_of(worker.record.ranks);
      const RankReport& slowest =
          (*std::ranges::min_element(watches, {}, [](const RankWatch* watch) {
            return watch->report().phase;
          }))->report();
      worker.record.last_phase = base::to_string(slowest.phase);
      worker.record.last_cell = slowest.cell;
      for (RankWatch* watch : watches)
        worker.ranks.push_back(watch->report());
    }
    act(action::Report{std::move(whole), !state_.in<phase::Running>()});
  }

  TrialState& state_;
  std::int64_t now_ns_;
  std::vector<TrialAction> actions_;
};

} // namespace

const model::Setting* asked_program(const model::TrialSpec& spec) {
  auto found = std::ranges::find(spec.libraries, model::k_worker_program, &model::Setting::name);
  return found == spec.libraries.end() ? nullptr : &*found;
}

TrialState::TrialState(const model::TrialSpec& spec_in, const SupervisorOptions& options_in,
                       std::vector<model::WorkerRecord> workers, TrialPhase phase_in,
                       std::int64_t now_ns)
    : spec(&spec_in), options(&options_in), phase(std::move(phase_in)), begun_ns(now_ns) {
  for (model::WorkerRecord& worker : workers) {
    for (int rank : worker.ranks)
      watches.try_emplace(rank, rank, spec_in, now_ns);
    report.workers.emplace_back().record = std::move(worker);
  }
}

bool TrialState::complete(const std::string& key) const {
  auto found = exchanges.find(key);
  return found != exchanges.end() && found->second.complete();
}

bool TrialState::opened() const {
  return all_ranks(*this, &RankWatch::opened);
}

bool TrialState::past_measure_gate() const {
  return measure_gate_open ||
         std::ranges::any_of(watches, [](const auto& entry) { return entry.second.started(); });
}

bool TrialState::measuring() const {
  return all_ranks(*this, &RankWatch::measuring);
}

bool TrialState::waits_for_exchange() const {
  return std::ranges::any_of(exchanges,
                             [](const auto& entry) { return entry.second.due_ns.has_value(); });
}

bool TrialState::exchange_overdue(std::int64_t now_ns) const {
  return std::ranges::any_of(exchanges, [&](const auto& entry) {
    return entry.second.due_ns && now_ns >= *entry.second.due_ns;
  });
}

TrialStep step(TrialState state, TrialEvent event, std::int64_t now_ns) {
  Transition transition(state, now_ns);
  std::visit([&](auto& happened) { transition.on(happened); }, event);
  auto actions = transition.take_actions();
  return {std::move(state), std::move(actions)};
}

} // namespace ncclprobe::launch
