// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Writes 100 MB on its standard output before it does everything right.
#include "talk.h"

#include <string>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(flood) {
  std::string line(99, 'x');
  line += '\n';
  std::string block;
  for (int i = 0; i < 1000; ++i)
    block += line;
  for (int i = 0; i < 1000; ++i)
    for (std::size_t at = 0; at < block.size();) {
      ssize_t size = ::write(1, block.data() + at, block.size() - at);
      if (size < 0)
        return 1;
      at += static_cast<std::size_t>(size);
    }
  return ncclprobe::test_worker::Talk().behave();
}
