// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "base/fd.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ncclprobe::backend {

// A barrier of processes of one host, in memory that they share: no message of the library under
// test is needed, and all leave within a microsecond. The memory has no name in any file system, so
// that nothing can be left behind.
class HostBarrier {
public:
  // Memory for that many ranks, and zeroes behind it for what they will (extra()). Throws
  // Errc::unavailable.
  static std::unique_ptr<HostBarrier> create(int size, std::size_t extra_bytes = 0);
  // What another process made and told of in its invitation(). Throws Errc::unavailable: another
  // user, or a container that does not see the other's processes, or sees others in their place.
  static std::unique_ptr<HostBarrier> open(const std::string& invitation, int size,
                                           std::size_t extra_bytes = 0);
  ~HostBarrier();
  HostBarrier(const HostBarrier&) = delete;
  HostBarrier& operator=(const HostBarrier&) = delete;

  // Good for open() as long as this object lives.
  std::string invitation() const;
  // The largest value over all ranks; returns once every rank has come. `own_ranks`: whom this
  // process speaks for, the same ones each time. `look_around` is called now and then while it
  // waits, and may throw.
  double all_reduce_max(std::span<const int> own_ranks, double value,
                        const std::function<void()>& look_around);

  std::byte* extra() const;

private:
  struct Slot;
  HostBarrier(base::Fd file, std::string name, int size, std::size_t extra_bytes);
  static std::size_t bytes_of(int size, std::size_t extra_bytes);

  base::Fd file_;
  std::string name_; // of the memory: nobody else's has the same
  int size_ = 0;
  std::size_t bytes_ = 0;
  Slot* slots_ = nullptr; // one a rank, shared
  std::uint64_t round_ = 0;
};

// A barrier for all ranks of a communicator; none, for all of them, if one process
// cannot reach it. `key` is unique in the trial.
std::unique_ptr<HostBarrier> share_barrier(const std::string& key, const std::vector<int>& ranks,
                                           std::span<const Member> local, Rendezvous& rendezvous,
                                           std::size_t extra_bytes = 0);

} // namespace ncclprobe::backend
