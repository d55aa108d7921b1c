// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/stop_on_signal.h"

#include <atomic>
#include <csignal>

namespace ncclprobe::cli {
namespace {

std::atomic<launch::Supervisor*> supervisor_to_stop{nullptr};
std::atomic<int> last_signal{0};

void on_stop_signal(int number) {
  last_signal = number;
  if (launch::Supervisor* supervisor = supervisor_to_stop)
    supervisor->request_stop();
}

} // namespace

StopOnSignal::StopOnSignal(launch::Supervisor& supervisor) {
  supervisor_to_stop = &supervisor;
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) // nohup
      sigaction(number, &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  supervisor_to_stop = nullptr;
}

int stop_signal() {
  return last_signal;
}

} // namespace ncclprobe::cli
