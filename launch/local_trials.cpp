// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/local_trials.h"

#include "base/log.h"
#include "model/document.h"

#include <algorithm>

namespace ncclprobe::launch {

LocalTrials::LocalTrials(const Layout& layout, int supervisor, const SupervisorOptions& options,
                         Tell tell_leader)
    : layout_(layout), supervisor_(supervisor), options_(options),
      tell_leader_(std::move(tell_leader)) {}

LocalTrials::Numbered* LocalTrials::find(int trial) {
  auto found = std::find_if(trials_.begin(), trials_.end(),
                            [&](const Numbered& one) { return one.number == trial; });
  return found == trials_.end() ? nullptr : &*found;
}

void LocalTrials::refuse(int trial, std::string reason) {
  if (!reason.empty())
    tell_leader_(trial, Trouble{Trouble::Kind::failed, std::move(reason), {}, "", -1, 0});
  tell_leader_(trial, TrialReport{});
}

std::unique_ptr<LocalTrial> LocalTrials::begin(const Numbered& numbered,
                                               LocalTrial::Standing standing) {
  auto spec = model::parse_json<model::TrialSpec>(numbered.spec);
  if (!spec) { // builds that differ; the leader has to hear something
    if (standing == LocalTrial::Standing::ordered)
      refuse(numbered.number, fmt::format("supervisor {}: {}", supervisor_, spec.error().text()));
    return nullptr;
  }
  return std::make_unique<LocalTrial>(
      std::move(*spec), layout_, supervisor_, options_, standing,
      [this, trial = numbered.number](LetterBody body) { tell_leader_(trial, std::move(body)); });
}

void LocalTrials::order(int trial, std::string spec) {
  if (closed_)
    return refuse(trial, "");
  forgotten_at_.reset(); // a leader that orders has not forgotten us
  bool ready = next_ && next_->number == trial && next_->spec == spec && next_->trial &&
               next_->trial->spoilt().empty() && !next_->trial->over();
  if (ready) {
    trials_.push_back(std::move(*next_));
    next_.reset();
    trials_.back().trial->promote();
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
    found->trial->deliver(whole);
}

void LocalTrials::stop(int trial, const StopOrder& order) {
  discard_prepared(order.haste, "a trial was stopped");
  forgotten_at_.reset();
  if (Numbered* found = find(trial)) {
    stop(*found, order);
    found->trial->on_answer(); // to what it told while it was being stopped, too
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
    one->discard(haste);
  if (waiting_)
    stop(waiting_->number, {haste, Ask::no});
}

void LocalTrials::discard_prepared(Haste haste, const std::string& why) {
  if (!next_)
    return;
  if (next_->trial) {
    spdlog::debug("supervisor {}: what was prepared of trial {} is discarded: {}", supervisor_,
                  next_->number, why);
    next_->trial->discard(haste);
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
    if (one.trial->unanswered()) {
      spdlog::warn("supervisor {}: trial {} has failed, and the leader does not answer: its "
                   "workers are stopped",
                   supervisor_, one.number);
      discard_prepared(Haste::normal, "a trial failed");
      stop(one, one.trial->own_order());
    }
  }
  if (next_ && next_->trial)
    next_->trial->serve(polled);
  for (auto& one : discarded_)
    one->serve(polled);
  if (next_ && next_->trial && !next_->trial->spoilt().empty())
    discard_prepared(Haste::normal, std::string(next_->trial->spoilt()));
  drop_what_is_over();
  begin_what_may();
  const bool nothing_runs = trials_.empty() && !waiting_ && discarded_.empty();
  if (!nothing_runs)
    order_due_.reset();
  else if (!order_due_)
    order_due_ = base::Deadline::after(options_.leader_patience);
}

void LocalTrials::drop_what_is_over() {
  for (const Numbered& one : trials_)
    if (one.trial->over() && one.trial->untidy())
      shared_memory_.look(one.trial->spawned_at_s());
  for (const auto& one : discarded_)
    if (std::string lost = one->over() ? one->lost_workers() : ""; !lost.empty())
      tell_leader_(k_whole_run, // nobody waits for its report
                   Trouble{Trouble::Kind::failed, std::move(lost), {}, "", -1, 0});
  for (const Numbered& one : trials_)
    if (one.trial->over() && one.trial->stopped_unanswered())
      forgotten_at_ = one.trial->forgotten_at();
  std::erase_if(trials_, [](const Numbered& one) { return one.trial->over(); });
  std::erase_if(discarded_, [](const auto& one) { return one->over(); });
}

void LocalTrials::begin_what_may() {
  if (waiting_ && trials_.empty() && discarded_.empty()) {
    waiting_->trial = begin(*waiting_, LocalTrial::Standing::ordered);
    if (waiting_->trial)
      trials_.push_back(std::move(*waiting_));
    waiting_.reset();
  }
  if (trials_.empty())
    return;
  LocalTrial& present = *trials_.back().trial;
  if (next_ && !next_->trial && !waiting_ && present.opened() && !present.past_measure_gate()) {
    next_->trial = begin(*next_, LocalTrial::Standing::prepared);
    if (!next_->trial)
      next_.reset();
  }
  bool alone = trials_.size() == 1 && discarded_.empty();
  bool next_is_quiet = !next_ || !next_->trial || next_->trial->at_turn();
  if (present.at_measure_gate() && alone && next_is_quiet)
    present.open_measure_gate();
}

bool LocalTrials::ending() const {
  return std::any_of(trials_.begin(), trials_.end(),
                     [](const Numbered& one) { return one.trial->ending(); }) ||
         std::any_of(discarded_.begin(), discarded_.end(),
                     [](const auto& one) { return one->ending(); });
}

bool LocalTrials::waits_for_exchange() const {
  return std::any_of(trials_.begin(), trials_.end(),
                     [](const Numbered& one) { return one.trial->waits_for_exchange(); });
}

bool LocalTrials::forgotten() const {
  auto is_over = [](const std::optional<base::Deadline>& at) { return at && at->expired(); };
  return is_over(forgotten_at_) || std::ranges::any_of(trials_, [&](const Numbered& one) {
           return is_over(one.trial->forgotten_at());
         });
}

bool LocalTrials::leader_overdue() const {
  return (order_due_ && order_due_->expired()) ||
         std::ranges::any_of(trials_,
                             [](const Numbered& one) { return one.trial->exchange_overdue(); });
}

void LocalTrials::on_leaders_sign() {
  for (Numbered& one : trials_)
    one.trial->on_leaders_sign();
  if (forgotten_at_)
    forgotten_at_ = base::Deadline::after(options_.leader_silence);
  order_due_.reset();
}

void LocalTrials::postpone(std::chrono::nanoseconds by) {
  for (Numbered& one : trials_)
    one.trial->postpone(by);
  if (next_ && next_->trial)
    next_->trial->postpone(by);
  if (forgotten_at_)
    forgotten_at_->postpone(by);
}

bool LocalTrials::measuring() const {
  return !trials_.empty() && trials_.back().trial->measuring();
}

} // namespace ncclprobe::launch
