// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/supervisor/local_trials.h"

#include "base/log.h"
#include "model/document.h"

#include <algorithm>

namespace ncclprobe::launch {

LocalTrials::LocalTrials(const Layout& layout, int supervisor, const SupervisorOptions& options,
                         const ActiveClock& clock, Tell tell_leader)
    : layout_(layout), supervisor_(supervisor), options_(options), clock_(clock),
      tell_leader_(std::move(tell_leader)) {}

LocalTrials::Numbered* LocalTrials::find(int trial) {
  auto found =
      std::ranges::find_if(trials_, [&](const Numbered& one) { return one.number == trial; });
  return found == trials_.end() ? nullptr : &*found;
}

void LocalTrials::refuse(int trial, std::string reason) {
  if (!reason.empty())
    tell_leader_(trial, Trouble{.reason = std::move(reason)});
  tell_leader_(trial, TrialReport{});
}

std::unique_ptr<LocalTrial> LocalTrials::begin(const Numbered& numbered, TrialPhase phase) {
  auto spec = model::parse_json<model::TrialSpec>(numbered.spec);
  if (!spec) { // the builds differ; the leader must be informed
    if (std::holds_alternative<phase::Running>(phase))
      refuse(numbered.number, fmt::format("supervisor {}: {}", supervisor_, spec.error().text()));
    return nullptr;
  }
  return std::make_unique<LocalTrial>(
      std::move(*spec), layout_, supervisor_, options_, clock_, std::move(phase),
      [this, trial = numbered.number](MessageBody body) { tell_leader_(trial, std::move(body)); });
}

void LocalTrials::order(int trial, std::string spec) {
  if (closed_)
    return refuse(trial, "");
  leader_lost_ns_.reset(); // an order proves that the leader has not forgotten us
  bool ready = next_ && next_->number == trial && next_->spec == spec && next_->trial &&
               next_->trial->state().in<phase::Prepared>();
  if (ready) {
    trials_.push_back(std::move(*next_));
    next_.reset();
    trials_.back().trial->take(event::Promoted{});
    return;
  }
  discard_prepared(Haste::normal, "another trial was ordered");
  waiting_ = {trial, std::move(spec), nullptr};
  begin_what_may();
}

void LocalTrials::prepare(int trial, std::string spec) {
  if (closed_ || (next_ && next_->number == trial && next_->spec == spec))
    return;
  discard_prepared(Haste::normal, "another trial is to be prepared");
  next_ = {trial, std::move(spec), nullptr};
}

void LocalTrials::deliver(int trial, const wire::Exchange& whole) {
  if (Numbered* found = find(trial))
    found->trial->take(event::Delivered{whole});
}

void LocalTrials::stop(int trial, const StopOrder& order) {
  discard_prepared(order.haste, "a trial was stopped");
  leader_lost_ns_.reset();
  if (Numbered* found = find(trial)) {
    stop(*found, order);
    // Also answers trouble that it reported while it was being stopped.
    found->trial->take(event::LeaderAnswered{});
    return;
  }
  if (waiting_ && waiting_->number == trial) {
    waiting_.reset();
    refuse(trial, "");
  }
}

void LocalTrials::stop(Numbered& numbered, const StopOrder& order) {
  for (pid_t worker : numbered.trial->pids())
    shared_memory_.note(worker); // before the stop: an ending process has nothing mapped
  numbered.trial->stop(order);
}

void LocalTrials::stop_all(Haste haste) {
  closed_ = true;
  discard_prepared(haste, "the run ends");
  for (Numbered& one : trials_)
    one.trial->stop({haste, Ask::no});
  for (auto& one : discarded_)
    one->take(event::Discarded{haste});
  if (waiting_)
    stop(waiting_->number, {haste, Ask::no});
}

void LocalTrials::discard_prepared(Haste haste, const std::string& why) {
  if (!next_)
    return;
  if (next_->trial) {
    spdlog::debug("supervisor {}: what was prepared of trial {} is discarded: {}", supervisor_,
                  next_->number, why);
    next_->trial->take(event::Discarded{haste});
    discarded_.push_back(std::move(next_->trial));
  }
  next_.reset();
}

void LocalTrials::watch(std::vector<pollfd>& into) {
  for (Numbered& one : trials_)
    one.trial->watch(into);
  if (next_ && next_->trial)
    next_->trial->watch(into);
  for (auto& one : discarded_)
    one->watch(into);
}

void LocalTrials::serve(const std::vector<pollfd>& polled) {
  for (Numbered& one : trials_) {
    one.trial->serve(polled);
    const auto* failing = std::get_if<phase::Failing>(&one.trial->state().phase);
    if (failing != nullptr && clock_.past(failing->answer_due_ns)) {
      spdlog::warn("supervisor {}: trial {} has failed, and the leader does not answer: its "
                   "workers are stopped",
                   supervisor_, one.number);
      discard_prepared(Haste::normal, "a trial failed");
      stop(one, {Haste::normal, failing->ask});
    }
  }
  if (next_ && next_->trial)
    next_->trial->serve(polled);
  for (auto& one : discarded_)
    one->serve(polled);
  if (next_ && next_->trial && !next_->trial->state().in<phase::Prepared>()) {
    const auto* spoilt = std::get_if<phase::Spoilt>(&next_->trial->state().phase);
    discard_prepared(Haste::normal, spoilt != nullptr ? spoilt->why : "its workers are gone");
  }
  drop_what_is_over();
  begin_what_may();
  const bool nothing_runs = trials_.empty() && !waiting_ && discarded_.empty();
  if (!nothing_runs)
    order_due_ns_.reset();
  else if (!order_due_ns_)
    order_due_ns_ = clock_.in(options_.leader_patience);
}

void LocalTrials::drop_what_is_over() {
  for (const Numbered& one : trials_) {
    if (!one.trial->state().over())
      continue;
    if (one.trial->untidy())
      shared_memory_.look(one.trial->spawned_at_s());
    if (one.trial->state().leader_lost_ns)
      leader_lost_ns_ = one.trial->state().leader_lost_ns;
  }
  for (const auto& one : discarded_)
    if (std::string lost = one->state().over() ? one->lost_workers() : ""; !lost.empty())
      tell_leader_(k_whole_run, // nobody waits for the trial's report
                   Trouble{.reason = std::move(lost)});
  std::erase_if(trials_, [](const Numbered& one) { return one.trial->state().over(); });
  std::erase_if(discarded_, [](const auto& one) { return one->state().over(); });
}

void LocalTrials::begin_what_may() {
  if (waiting_ && trials_.empty() && discarded_.empty()) {
    waiting_->trial = begin(*waiting_, phase::Running{});
    if (waiting_->trial)
      trials_.push_back(std::move(*waiting_));
    waiting_.reset();
  }
  if (trials_.empty())
    return;
  LocalTrial& present = *trials_.back().trial;
  if (next_ && !next_->trial && !waiting_ && present.state().opened() &&
      !present.state().past_measure_gate()) {
    next_->trial = begin(*next_, phase::Prepared{clock_.in(options_.prepare_patience)});
    if (!next_->trial)
      next_.reset();
  }
  bool alone = trials_.size() == 1 && discarded_.empty();
  bool next_is_quiet = !next_ || !next_->trial || next_->trial->state().at_turn();
  if (present.state().at_measure_gate() && alone && next_is_quiet)
    present.take(event::MeasureGateOpened{});
}

bool LocalTrials::ending() const {
  return std::ranges::any_of(trials_, [](const auto& one) { return one.trial->ending(); }) ||
         std::ranges::any_of(discarded_, [](const auto& one) { return one->ending(); });
}

bool LocalTrials::waits_for_exchange() const {
  return std::ranges::any_of(
      trials_, [](const Numbered& one) { return one.trial->state().waits_for_exchange(); });
}

bool LocalTrials::forgotten() const {
  auto is_over = [this](const auto& at_ns) { return at_ns && clock_.past(*at_ns); };
  return is_over(leader_lost_ns_) || std::ranges::any_of(trials_, [&](const Numbered& one) {
           return is_over(one.trial->state().leader_lost_ns);
         });
}

bool LocalTrials::leader_overdue() const {
  return (order_due_ns_ && clock_.past(*order_due_ns_)) || leader_lost_ns_ ||
         std::ranges::any_of(trials_, [this](const Numbered& one) {
           const TrialState& state = one.trial->state();
           return state.leader_lost_ns || state.exchange_overdue(clock_.now_ns());
         });
}

void LocalTrials::on_leader_heard() {
  for (Numbered& one : trials_)
    one.trial->take(event::LeaderHeard{});
  if (leader_lost_ns_)
    leader_lost_ns_ = clock_.in(options_.leader_silence);
  order_due_ns_.reset();
}

bool LocalTrials::measuring() const {
  return !trials_.empty() && trials_.back().trial->state().measuring();
}

} // namespace ncclprobe::launch
