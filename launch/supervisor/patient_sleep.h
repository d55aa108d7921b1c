// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ncclprobe::launch {

// Each sleep takes a fiftieth of the time waited so far, so short waits stay short and long ones
// cost little CPU time.
class PatientSleep {
public:
  void operator()() {
    auto wait = std::clamp<std::chrono::nanoseconds>(
        std::chrono::nanoseconds((base::monotonic_ns() - since_ns_) / 50),
        std::chrono::microseconds(50), std::chrono::milliseconds(10));
    std::this_thread::sleep_for(wait);
  }

private:
  std::int64_t since_ns_ = base::monotonic_ns();
};

} // namespace ncclprobe::launch
