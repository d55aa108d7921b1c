// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// main of every Catch2 test program.
#include "support/session.h"

int main(int argc, char** argv) {
  return ncclprobe::support::run_tests(argc, argv);
}
