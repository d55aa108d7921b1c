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

// What the made-up ranks of a communicator tell each other of their clocks. Each clock moves by its
// own rank's work alone, but a trace compares them: what waits for others has to wait for them here
// too, or a message would arrive before it was sent.
class PeerClocks {
public:
  // None if they cannot share memory, as on several hosts. Members as in Backend::connect().
  static std::shared_ptr<PeerClocks> connect(const std::string& key, const std::vector<int>& ranks,
                                             std::span<const Member> local, Rendezvous& rendezvous);

  // The largest value of all ranks, once all have called.
  double all_reduce_max(double value);
  // When the last rank begins the collective that this one begins then.
  std::int64_t last_begin_ns(std::int64_t own_ns);
  // The number of a message among those from one rank to the other. Sends never block.
  void tell_begin(int from, int to, std::uint64_t number, std::int64_t ns);
  // When it was sent, once it was; 0 if so much later ones are on their way that it was forgotten.
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
