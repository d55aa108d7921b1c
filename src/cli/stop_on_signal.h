// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor.h"

namespace ncclprobe::cli {

// Ctrl-C and termination stop the current trial while this object lives. One at a time.
class StopOnSignal {
public:
  explicit StopOnSignal(launch::Supervisor& supervisor);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// The last signal that came meanwhile; 0 if none did.
int stop_signal();

} // namespace ncclprobe::cli
