// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/message.h"

namespace ncclprobe::wire {

// One end of a connected socket pair that carries Messages. The descriptor is non-blocking.
class Channel {
public:
  explicit Channel(base::Fd fd);
  int fd() const { return fd_.get(); }

  // Writes the whole frame, waiting for the reader if need be. Errors: crashed (the other end is
  // gone), timed_out (it did not read in time), io.
  base::Result<void> send(const Message& message, base::Deadline deadline = base::Deadline::never());

  // The next message; nullopt if none is complete at the deadline. Errors: crashed (end of file),
  // protocol, io.
  base::Result<std::optional<Message>> receive(base::Deadline deadline);

private:
  base::Fd fd_;
  Decoder decoder_;
};

// A connected pair: first for the supervisor (close-on-exec), second for the worker.
base::Result<std::pair<Channel, base::Fd>> make_channel();

} // namespace ncclprobe::wire
