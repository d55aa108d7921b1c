// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/worker_handle.h"

#include "base/secrets.h"

#include <csignal>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// A worker may send this many messages before others get their turn.
constexpr int k_messages_per_turn = 64;
// Between end of file on the channel and the end of the process: leaving a GPU takes a while.
constexpr auto k_silence = 5s;
// What SIGKILL needs to end a group whose leader has ended.
constexpr auto k_clearing = 5s;

} // namespace

Result<WorkerHandle> WorkerHandle::launch(const ProcessCommand& command) {
  NCCLPROBE_TRY_ASSIGN(auto ends, wire::make_channel(base::secrets_of(command.environment)));
  NCCLPROBE_TRY_ASSIGN(Process process, Process::spawn(command, std::move(ends.second)));
  return WorkerHandle(std::move(process), std::move(ends.first));
}

void WorkerHandle::watch(std::vector<pollfd>& into) {
  first_watched_ = into.size();
  if (channel_ && !silent_until_)
    into.push_back({channel_->fd(),
                    static_cast<short>(channel_->waits_for_reader() ? POLLIN | POLLOUT : POLLIN),
                    0});
  if (process_.output_fd() >= 0)
    into.push_back({process_.output_fd(), POLLIN, 0});
  if (process_.exit_fd() >= 0)
    into.push_back({process_.exit_fd(), POLLIN, 0});
  watched_ = into.size() - first_watched_;
}

std::vector<WorkerEvent> WorkerHandle::serve(const std::vector<pollfd>& polled) {
  bool quiet = process_.exit_fd() >= 0 && !ending() && !silent_until_ && !more_to_hear_;
  for (std::size_t i = first_watched_; quiet && i < first_watched_ + watched_; ++i)
    quiet = polled[i].revents == 0;
  return quiet ? std::vector<WorkerEvent>{} : serve();
}

std::vector<WorkerEvent> WorkerHandle::serve() {
  std::vector<WorkerEvent> events;
  if (over())
    return events;
  process_.read_output();
  // Checked before the channel is read, so that everything it sent is handled before its end.
  bool ended_now = !exit_ && process_.poll_exit();
  if (!stopping_)
    hear(events);
  if (ended_now) {
    exit_ = process_.poll_exit();
    process_.read_output();
    channel_.reset();
    silent_until_.reset();
    if (!stopping_)
      events.emplace_back(*exit_);
    clear_until_ = base::Deadline::after(k_clearing);
  }
  if (silent_until_ && silent_until_->expired()) {
    silent_until_.reset();
    channel_.reset();
    events.emplace_back(Error{Errc::crashed, "closed its channel without ending", {}});
  }
  if (stopping_ && !exit_)
    climb();
  if (exit_) {
    gone_ = process_.clear_group();
    if (gone_)
      process_.read_output();
    else if (clear_until_->expired())
      lost_ = true;
  }
  return events;
}

void WorkerHandle::hear(std::vector<WorkerEvent>& events) {
  if (!channel_ || silent_until_)
    return;
  if (auto flushed = channel_->flush(); !flushed && flushed.error().code != Errc::crashed)
    events.emplace_back(flushed.error());
  more_to_hear_ = false;
  // An ended worker sends nothing more, so this loop ends.
  for (int heard = 0; heard < k_messages_per_turn || process_.poll_exit(); ++heard) {
    auto message = channel_->receive(base::Deadline::after(0ns));
    if (!message) {
      if (message.error().code == Errc::crashed) {
        silent_until_ = base::Deadline::after(k_silence);
      } else {
        events.emplace_back(message.error());
        channel_.reset();
      }
      return;
    }
    if (!*message)
      return;
    events.emplace_back(std::move(**message));
  }
  more_to_hear_ = true;
}

void WorkerHandle::send(const wire::Message& message) {
  if (!channel_ || silent_until_)
    return;
  channel_->enqueue(message);
  (void)channel_->flush(); // reading reports a failure
}

void WorkerHandle::stop(StopLadder ladder) {
  if (over())
    return;
  if (stopping_ && total_wait(ladder) >= total_wait(ladder_))
    return;
  ladder_ = std::move(ladder);
  next_rung_ = 0;
  rung_over_ = base::Deadline::after(0ns);
  stopping_ = true;
  if (!exit_)
    climb();
}

void WorkerHandle::climb() {
  while (rung_over_.expired()) {
    if (next_rung_ == ladder_.size()) {
      lost_ = true;
      return;
    }
    const StopRung& rung = ladder_[next_rung_++];
    if (rung.act == StopRung::Act::close_channel) {
      channel_.reset();
      silent_until_.reset();
    } else {
      process_.signal_group(rung.signal);
    }
    rung_over_ = base::Deadline::after(rung.wait);
  }
}

} // namespace ncclprobe::launch
