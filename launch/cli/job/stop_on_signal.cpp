// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/stop_on_signal.h"

#include "base/console.h"
#include "base/exit_code.h"
#include "base/printable.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

std::atomic<launch::Supervisor*> supervisor_to_stop{nullptr};
std::atomic<int> last_signal{0};
std::atomic<const std::string*> words_to_leave_with{nullptr};
std::atomic<bool> file_is_being_written{false};
std::atomic<bool> leaves_when_written{false};

void handle_stop_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) // nohup
      sigaction(number, &action, nullptr);
  }
}

void on_stop_signal(int number) {
  last_signal = number;
  if (launch::Supervisor* supervisor = supervisor_to_stop)
    supervisor->request_stop();
}

[[noreturn]] void leave() {
  if (const std::string* words = words_to_leave_with)
    base::print_in_signal_handler(*words);
  ::_exit(base::k_exit_interrupted);
}

void on_leave_signal(int number) {
  // A launcher that terminates its ranks gives them less than a second.
  if (!file_is_being_written || number != SIGINT || leaves_when_written.exchange(true))
    leave();
  base::print_in_signal_handler(
      "\nncclprobe: the run file is being completed; Ctrl-C again leaves it in parts\n");
}

} // namespace

StopOnSignal::StopOnSignal(launch::Supervisor& supervisor) {
  supervisor_to_stop = &supervisor;
  handle_stop_signals(on_stop_signal);
}

StopOnSignal::~StopOnSignal() {
  supervisor_to_stop = nullptr;
}

int stop_signal() {
  return last_signal;
}

LeaveOnSignal::LeaveOnSignal(const std::string& words) : words_(base::escape_unsafe(words)) {
  words_to_leave_with = &words_;
  leaves_when_written = false;
  file_is_being_written = true;
  handle_stop_signals(on_leave_signal);
}

LeaveOnSignal::~LeaveOnSignal() {
  handle_stop_signals(SIG_DFL);
  words_to_leave_with = nullptr;
}

void LeaveOnSignal::file_is_whole() {
  file_is_being_written = false;
  if (leaves_when_written)
    leave();
}

} // namespace ncclprobe::cli
