// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "launch/supervisor/process.h"
#include "launch/supervisor/stop_ladder.h"
#include "wire/channel.h"

#include <optional>
#include <poll.h>
#include <variant>
#include <vector>

namespace ncclprobe::launch {

// What a worker can send: a message, a broken channel, or its end.
using WorkerEvent = std::variant<wire::Message, Error, ExitStatus>;

// One worker process and its channel. Never waits: watch() returns what to poll for, serve()
// handles what has arrived and continues an ongoing stop.
class WorkerHandle {
public:
  static Result<WorkerHandle> launch(const ProcessCommand& command);

  void watch(std::vector<pollfd>& into);
  // Events in order; the end is the last one. `polled` is the vector that watch() added to.
  std::vector<WorkerEvent> serve(const std::vector<pollfd>& polled);
  // The same without a poll before it: looks at everything.
  std::vector<WorkerEvent> serve();

  void send(const wire::Message& message);
  // Nothing it sends is handled from now on. A second call with a shorter ladder speeds the stop
  // up.
  void stop(StopLadder ladder);

  pid_t pid() const { return process_.pid(); }
  std::optional<ExitStatus> exit() const { return exit_; }
  bool ended() const { return exit_.has_value(); }
  bool stopped() const { return stopping_; }
  bool gone() const { return gone_; } // with its whole group
  bool lost() const { return lost_; } // survived SIGKILL; it is left alone
  bool over() const { return gone_ || lost_; }
  // Its group must be checked again soon; no descriptor will announce it.
  bool ending() const { return !over() && (ended() || stopping_); }
  std::string output_tail(std::size_t size) const { return process_.output_tail(size); }

private:
  WorkerHandle(Process process, wire::Channel channel)
      : process_(std::move(process)), channel_(std::move(channel)) {}
  void hear(std::vector<WorkerEvent>& events);
  void climb();

  Process process_;
  std::optional<wire::Channel> channel_;
  std::optional<ExitStatus> exit_;
  // When it should have ended after closing the channel.
  std::optional<base::Deadline> silent_until_;
  std::optional<base::Deadline> clear_until_;
  bool more_to_hear_ = false; // already read, so no descriptor will announce it
  std::size_t first_watched_ = 0;
  std::size_t watched_ = 0;
  StopLadder ladder_;
  std::size_t next_rung_ = 0;
  base::Deadline rung_over_ = base::Deadline::never();
  bool stopping_ = false;
  bool gone_ = false;
  bool lost_ = false;
};

} // namespace ncclprobe::launch
