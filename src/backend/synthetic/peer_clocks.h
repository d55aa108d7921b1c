// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/host_barrier.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ncclprobe::backend {

// How the simulated ranks of a communicator exchange their clocks. Each clock advances only with
// its own rank's work, but a trace compares them. A wait must therefore wait here too, or a message
// would arrive before it was sent.
class PeerClocks {
public:
  // None if they cannot share memory, for example on several hosts. Members as in
  // Backend::connect().
  static std::shared_ptr<PeerClocks> connect(const std::string& key, const std::vector<int>& ranks,
                                             std::span<const Member> local, Rendezvous& rendezvous);

  // The all_reduce_max value of all ranks, after all have called.
  double all_reduce_max(double value);
  // When the last rank begins the collective that this rank begins at that time.
  std::int64_t last_begin_ns(std::int64_t own_ns);
  // Sequence number of a message from one rank to the other. Sends never block.
  void tell_begin(int from, int to, std::uint64_t number, std::int64_t ns);
  // When the message was sent; waits until it is. 0 if so many later messages are on their way that
  // it was forgotten.
  std::int64_t sent_ns(int from, int to, std::uint64_t number) const;

private:
  struct Slot;
  PeerClocks(std::unique_ptr<HostBarrier> barrier, int size, std::span<const Member> local);
  Slot& slot(int from, int to, std::uint64_t number) const;

  std::unique_ptr<HostBarrier> barrier_;
  int size_;
  std::vector<int> own_;
};

} // namespace ncclprobe::backend
