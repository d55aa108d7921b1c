// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <map>
#include <tuple>
#include <vector>

namespace ncclprobe::support {

// A communication library of a few lines, for ranks that one thread drives: all calls of a group
// are executed when the group ends.
class MemoryLibrary {
public:
  void group_begin() { ++depth_; }
  void group_end();

  // A rank of the communicator with that number. Errc::failed outside of groups, unless the rank is
  // alone.
  void enqueue(int communicator, int rank, int size, const backend::CollectiveCall& call);
  void send(int communicator, int from, int to, backend::Place place, std::uint64_t bytes);
  void receive(int communicator, int from, int to, backend::Place place, std::uint64_t bytes);

private:
  struct Message {
    backend::Place place;
    std::uint64_t bytes;
  };
  using Messages =
      std::map<std::tuple<int, int, int>, std::vector<Message>>; // communicator, from, to
  void run_unless_grouped();
  void run();

  int depth_ = 0;
  std::map<int, std::map<int, std::vector<backend::CollectiveCall>>> calls_; // communicator, rank
  std::map<int, int> sizes_;                                                 // of communicators
  Messages sends_;
  Messages receives_;
};

} // namespace ncclprobe::support
