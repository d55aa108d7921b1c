// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/stack_probe.h"

#include "base/function_name.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <thread>

namespace ncclprobe::worker {
namespace {

constexpr int k_most_frames = 64;
constexpr int k_own_frames = 2; // the handler, and the kernel's return from it

std::array<void*, k_most_frames> g_frames;
std::atomic<int> g_count = -1; // -1: not written yet

int probe_signal() {
  return SIGRTMIN + 5; // no known library uses it
}

void write_down(int) {
  int problem = errno;
  g_count.store(backtrace(g_frames.data(), k_most_frames), std::memory_order_release);
  errno = problem;
}

std::string file_name(const char* path) {
  std::string text = path != nullptr ? path : "?";
  return text.substr(text.find_last_of('/') + 1);
}

std::string frame_in_words(void* address, bool innermost) {
  // A return address may already belong to the next function.
  auto at = reinterpret_cast<std::uintptr_t>(address);
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(innermost ? at : at - 1), &found) == 0)
    return fmt::format("{:#x}", at);
  if (found.dli_sname == nullptr)
    return fmt::format("{}+{:#x}", file_name(found.dli_fname),
                       at - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
  return fmt::format("{}+{:#x} ({})", base::function_name(found.dli_sname),
                     at - reinterpret_cast<std::uintptr_t>(found.dli_saddr),
                     file_name(found.dli_fname));
}

} // namespace

StackProbe::StackProbe() : thread_(pthread_self()) {
  // The first call loads libgcc and allocates, which a signal handler must not do.
  (void)backtrace(g_frames.data(), k_most_frames);
  struct sigaction action {};
  action.sa_handler = write_down;
  action.sa_flags = SA_RESTART;
  sigaction(probe_signal(), &action, nullptr);
}

std::string StackProbe::take(std::chrono::milliseconds patience) const {
  g_count.store(-1, std::memory_order_relaxed);
  if (pthread_kill(thread_, probe_signal()) != 0)
    return "";
  auto give_up = std::chrono::steady_clock::now() + patience;
  int count = -1;
  while ((count = g_count.load(std::memory_order_acquire)) < 0) {
    if (std::chrono::steady_clock::now() > give_up)
      return "";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string lines;
  for (int i = k_own_frames; i < count; ++i)
    lines += frame_in_words(g_frames[i], i == k_own_frames) + "\n";
  return lines;
}

} // namespace ncclprobe::worker
