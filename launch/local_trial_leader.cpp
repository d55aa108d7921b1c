// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What a trial tells its leader unasked, and how long it waits for the leader's word.
#include "launch/local_trial.h"
#include "launch/signs_of_life.h"

#include <algorithm>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// Progress is for people, and a letter may land in somebody's measurement.
constexpr auto k_progress_interval = 250ms;

} // namespace

void LocalTrial::await_answer() {
  answer_due_ = base::Deadline::after(options_.cut_off_after);
  forgotten_at_ = base::Deadline::after(options_.leader_silence);
}

void LocalTrial::on_leaders_sign() {
  if (forgotten_at_)
    forgotten_at_ = base::Deadline::after(options_.leader_silence);
  for (auto& [key, pending] : exchanges_)
    if (pending.due.expired())
      pending.due = base::Deadline::after(options_.leader_patience);
}

bool LocalTrial::exchange_overdue() const {
  return std::ranges::any_of(exchanges_,
                             [](const auto& entry) { return entry.second.due.expired(); });
}

void LocalTrial::postpone(std::chrono::nanoseconds by) {
  for (auto& [rank, watch] : watches_)
    watch.postpone(by);
  for (auto& [key, pending] : exchanges_)
    pending.due.postpone(by);
  prepared_by_.postpone(by);
  answer_due_.postpone(by);
  if (forgotten_at_)
    forgotten_at_->postpone(by);
}

// From its failure on, until the leader has the report. Never while anything is measured.
void LocalTrial::tell_of_life() {
  bool at_work =
      (stopping_ || timed_out_) && !reported_ && !discarded_ && standing_ == Standing::ordered;
  if (!at_work || !next_sign_.expired())
    return;
  next_sign_ = base::Deadline::after(k_sign_interval);
  tell_leader_(StillHere{});
}

void LocalTrial::tell_progress() {
  if (watches_.empty() || !next_progress_.expired())
    return;
  auto slower = [](const auto& a, const auto& b) {
    return std::pair(a.second.cells_ended(), a.second.stage()) <
           std::pair(b.second.cells_ended(), b.second.stage());
  };
  const RankWatch& slowest = std::min_element(watches_.begin(), watches_.end(), slower)->second;
  ProgressNote note{slowest.cells_ended(), slowest.report().phase, slowest.stage()};
  if (note.cells_done == told_.cells_done && note.phase == told_.phase)
    return;
  told_ = note;
  next_progress_ = base::Deadline::after(k_progress_interval);
  tell_leader_(std::move(note));
}

} // namespace ncclprobe::launch
