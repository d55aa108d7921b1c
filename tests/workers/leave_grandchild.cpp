// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Does everything right, and leaves a child behind.
#include "talk.h"

#include <unistd.h>

int main() {
  if (::fork() == 0)
    while (true)
      ::pause();
  return ncclprobe::test_worker::Talk().behave();
}
