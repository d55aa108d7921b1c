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

// A meeting of processes of one host, in memory that they share: no message of the library under
// test is needed, and all leave within a microsecond. The memory has no name in any file system, so
// that nothing can be left behind.
class HostMeeting {
public:
  // Memory for that many ranks, and zeroes behind it for what they will (extra()). Throws
  // Errc::unavailable.
  static std::unique_ptr<HostMeeting> create(int size, std::size_t extra_bytes = 0);
  // What another process made and told of in its invitation(). Throws Errc::unavailable: another
  // user, or a container that does not see the other's processes, or sees others in their place.
  static std::unique_ptr<HostMeeting> open(const std::string& invitation, int size,
                                           std::size_t extra_bytes = 0);
  ~HostMeeting();
  HostMeeting(const HostMeeting&) = delete;
  HostMeeting& operator=(const HostMeeting&) = delete;

  // Good for open() as long as this object lives.
  std::string invitation() const;
  // The largest value over all ranks; returns once every rank has come. `own_ranks`: whom this
  // process speaks for, the same ones each time. `look_around` is called now and then while it
  // waits, and may throw.
  double meet(std::span<const int> own_ranks, double value,
              const std::function<void()>& look_around);

  std::byte* extra() const;

private:
  struct Seat;
  HostMeeting(base::Fd file, std::string name, int size, std::size_t extra_bytes);
  static std::size_t bytes_of(int size, std::size_t extra_bytes);

  base::Fd file_;
  std::string name_; // of the memory: nobody else's has the same
  int size_ = 0;
  std::size_t bytes_ = 0;
  Seat* seats_ = nullptr; // one a rank, shared
  std::uint64_t round_ = 0;
};

// Memory in which all ranks of a communicator can meet; none, for all of them, if one process
// cannot reach it. `key` is unique in the trial.
std::unique_ptr<HostMeeting> share_meeting(const std::string& key, const std::vector<int>& ranks,
                                           std::span<const Member> local, Rendezvous& rendezvous,
                                           std::size_t extra_bytes = 0);

} // namespace ncclprobe::backend
