// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/connection.h"

#include <memory>
#include <vector>

namespace ncclprobe::host {

enum class Direction { send, receive };

// A message to or from one rank.
struct Transfer {
  std::shared_ptr<Connection> connection;
  Direction direction;
  std::shared_ptr<std::byte> memory;
  std::uint64_t bytes;
  int peer;
  std::uint64_t number; // of the messages this way between the two
  HostStream* stream;
};

// Holds messages until the outermost group ends. Then all messages of one stream become one job,
// which posts every receive and send before it waits for any. The order within the group cannot
// deadlock.
class TransferGroup {
public:
  void begin() { ++depth_; }
  void end();
  // Outside a group, a message starts at once. A message to oneself needs its counterpart in the
  // same group (Errc::invalid_argument), on the same stream (Errc::unsupported).
  void add(Transfer);

private:
  void flush();

  int depth_ = 0;
  std::vector<Transfer> waiting_;
};

} // namespace ncclprobe::host
