// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "launch/worker/progress_board.h"
#include "launch/worker/stack_probe.h"
#include "wire/channel.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ncclprobe::worker {

// The worker's end of the channel. A thread reads all the time: when the supervisor is gone (end of
// file, or a broken frame), it kills the worker's whole process group, so that nothing outlives the
// run, whatever the other threads are stuck in. It also answers the question where the thread is
// that made this object, and that alone may call send() and what follows.
class SupervisorLink : public backend::Rendezvous {
public:
  // `board` outlives the process's last message.
  SupervisorLink(base::Fd channel, const ProgressBoard& board);

  void send(wire::Message message);
  wire::Start wait_for_start();
  std::vector<std::string> exchange(const std::string& key, const std::vector<int>& members,
                                    const std::map<int, std::string>& own) override;

private:
  void read_until_the_end();
  void tell_position();
  wire::Message next();

  wire::Channel channel_;
  std::timed_mutex sending_;
  const ProgressBoard& board_;
  StackProbe probe_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<wire::Message> inbox_;
};

} // namespace ncclprobe::worker
