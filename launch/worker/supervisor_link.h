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

namespace ncclprobe::worker {

// The worker's end of the channel. A thread reads all the time. When the supervisor is gone (end of
// file, or a broken frame), it kills the worker's whole process group. So nothing outlives the run,
// even if other threads are stuck. It also answers where the thread is that created this object.
// Only that thread may call send() and the functions after it.
class SupervisorLink : public backend::Rendezvous {
public:
  // `board` must outlive the process's last message.
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
