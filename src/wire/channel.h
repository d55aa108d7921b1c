// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/fd.h"
#include "wire/message.h"

#include <optional>

namespace ncclprobe::wire {

// One end of a connected socket pair that carries Messages. The descriptor is non-blocking. One
// thread may send while another receives.
class Channel {
public:
  // `secrets` never come out of receive() (Decoder).
  explicit Channel(base::Fd fd, std::vector<std::string> secrets = {});
  int fd() const { return fd_.get(); }

  // Writes the whole frame; waits for the reader if necessary. Errors: crashed (the other end is
  // closed), timed_out (it did not read in time; the frame may be truncated, so the channel is
  // unusable), io.
  Result<void> send(const Message& message, base::Deadline deadline = base::Deadline::never());

  // The same without waiting: enqueue() only stores the frame, flush() writes as much as the other
  // end accepts now. waits_for_reader() says whether poll(2) should watch for POLLOUT.
  void enqueue(const Message& message) { outbox_ += encode(message); }
  Result<void> flush();
  bool waits_for_reader() const { return !outbox_.empty(); }

  // The next message; nullopt if none is complete at the deadline. Errors: crashed (end of file),
  // protocol, io.
  Result<std::optional<Message>> receive(base::Deadline deadline);

private:
  base::Fd fd_;
  Decoder decoder_;
  std::string outbox_;
};

// A connected pair: first for the supervisor, second for the worker, both close-on-exec. The
// supervisor does not receive `secrets`.
Result<std::pair<Channel, base::Fd>> make_channel(std::vector<std::string> secrets = {});

} // namespace ncclprobe::wire
