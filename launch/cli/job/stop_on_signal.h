// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <string>

// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP. Only the latest of these objects acts.
namespace ncclprobe::cli {

// While this object lives, signals stop the current trial.
class StopOnSignal {
public:
  explicit StopOnSignal(launch::Supervisor& supervisor);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// The last signal since then; 0 if none.
int stop_signal();

// After the trials: signals end the process with exit code 130 and this message. The first Ctrl-C
// waits until the run file is complete.
class LeaveOnSignal {
public:
  explicit LeaveOnSignal(const std::string& words);
  ~LeaveOnSignal();
  LeaveOnSignal(const LeaveOnSignal&) = delete;
  LeaveOnSignal& operator=(const LeaveOnSignal&) = delete;

  // Call it when the run file is complete. Does not return if Ctrl-C came before.
  void file_is_whole();

private:
  std::string words_;
};

} // namespace ncclprobe::cli
