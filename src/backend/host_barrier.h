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

// A barrier for processes on one host, in shared memory. It needs no message of the library under
// test, and all ranks leave it within a microsecond. The memory has no name in any file system, so
// nothing can be left behind.
class HostBarrier {
public:
  // Memory for that many ranks, followed by zeroed memory for their own use (extra()). Throws
  // Errc::unavailable.
  static std::unique_ptr<HostBarrier> create(int size, std::size_t extra_bytes = 0);
  // Opens memory that another process created, from its invitation(). Throws Errc::unavailable if
  // that process has another user or is in another container.
  static std::unique_ptr<HostBarrier> open(const std::string& invitation, int size,
                                           std::size_t extra_bytes = 0);
  ~HostBarrier();
  HostBarrier(const HostBarrier&) = delete;
  HostBarrier& operator=(const HostBarrier&) = delete;

  // Valid for open() as long as this object exists.
  std::string invitation() const;
  // The largest value over all ranks; returns after every rank has called it. `own_ranks`: the
  // ranks of this process, the same in each call. `look_around` is called now and then during the
  // wait, and may throw.
  double all_reduce_max(std::span<const int> own_ranks, double value,
                        const std::function<void()>& look_around);

  std::byte* extra() const;

private:
  struct Slot;
  HostBarrier(base::Fd file, std::string name, int size, std::size_t extra_bytes);
  static std::size_t bytes_of(int size, std::size_t extra_bytes);

  base::Fd file_;
  std::string name_; // a unique number of the memory
  int size_ = 0;
  std::size_t bytes_ = 0;
  Slot* slots_ = nullptr; // one per rank, shared
  std::uint64_t round_ = 0;
};

// Memory for the barriers of a communicator's ranks. No rank gets it if one process cannot reach
// it. `key` is unique in the trial.
std::unique_ptr<HostBarrier> share_barrier(const std::string& key, const std::vector<int>& ranks,
                                           std::span<const Member> local, Rendezvous& rendezvous,
                                           std::size_t extra_bytes = 0);

} // namespace ncclprobe::backend
