// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <string>

// What SIGINT (Ctrl-C), SIGTERM and SIGHUP do. One of these objects acts at a time: the latest.
namespace ncclprobe::cli {

// They stop the current trial while this object lives.
class StopOnSignal {
public:
  explicit StopOnSignal(launch::Supervisor& supervisor);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// The last signal that came meanwhile; 0 if none did.
int stop_signal();

// When the trials are over: they end the process with exit code 130 and these words. The first
// Ctrl-C waits until the run file is whole.
class LeaveOnSignal {
public:
  explicit LeaveOnSignal(const std::string& words);
  ~LeaveOnSignal();
  LeaveOnSignal(const LeaveOnSignal&) = delete;
  LeaveOnSignal& operator=(const LeaveOnSignal&) = delete;

  // The run file is whole. Does not return if Ctrl-C came before.
  void file_is_whole();

private:
  std::string words_;
};

} // namespace ncclprobe::cli
