// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Makes the shared memory SEGMENT in cell 0, as NCCL does, and then crashes or hangs.
#include "talk.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(leave_shared_memory) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  talk.init();
  talk.begin_cell(0);
  int file = ::open(std::getenv("SEGMENT"), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, 4096) != 0 ||
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED)
    return 1;
  ::close(file);
  std::printf("made %s\n", std::getenv("SEGMENT"));
  std::fflush(stdout);
  if (std::string_view(std::getenv("MISBEHAVE")) == "crash")
    ::kill(::getpid(), SIGKILL);
  while (true)
    ::pause();
}
