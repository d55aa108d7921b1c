// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Dies in the middle of cell 1 of SIGSEGV, or what MISBEHAVE says: of another signal, of too much
// memory, or it is stopped.
#include "talk.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

// Until the kernel ends it. Only for a test that has limited its memory.
[[noreturn]] void use_all_memory() {
  constexpr std::size_t k_bytes = std::size_t{16} << 20;
  while (true)
    if (void* more = std::malloc(k_bytes))
      std::memset(more, 1, k_bytes);
}

} // namespace

NCCLPROBE_TEST_WORKER(crash_in_cell) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  const std::string_view how = std::getenv("MISBEHAVE");
  talk.init();
  talk.run_cells(0, 1);
  talk.begin_cell(1);
  std::puts("about to touch what is not ours");
  std::fflush(stdout);
  if (how == "memory")
    use_all_memory();
  const int signal = how == "KILL"   ? SIGKILL
                     : how == "ABRT" ? SIGABRT
                     : how == "STOP" ? SIGSTOP
                                     : SIGSEGV;
  if (signal != SIGKILL && signal != SIGSTOP)
    std::signal(signal, SIG_DFL); // a sanitizer would make an exit of it
  return std::raise(signal);
}
