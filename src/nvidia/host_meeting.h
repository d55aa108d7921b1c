// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ncclprobe::nvidia {

// A meeting of processes of one host, in memory that they share: no message of the library under
// test is needed, and all leave within a microsecond. The memory has no name in any file system, so
// that nothing can be left behind.
class HostMeeting {
public:
  // Memory for that many ranks. Throws Errc::unavailable.
  static std::unique_ptr<HostMeeting> create(int size);
  // What another process made and told of in its invitation(). Throws Errc::unavailable: another
  // user, or a container that does not see the other's processes, or sees others in their place.
  static std::unique_ptr<HostMeeting> open(const std::string& invitation, int size);
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

private:
  struct Seat;
  HostMeeting(base::Fd file, std::string name, int size);

  base::Fd file_;
  std::string name_; // of the memory: nobody else's has the same
  int size_ = 0;
  Seat* seats_ = nullptr; // one a rank, shared
  std::uint64_t round_ = 0;
};

} // namespace ncclprobe::nvidia
