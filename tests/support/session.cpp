// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Without main: benchmarks, which have their own, link what tests share.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "support/session.h"

#include "support/catch.h"

#include <cstdlib>
#include <iostream>

namespace ncclprobe::support {
namespace {
bool skipped = false;
}

void note_skip(const std::string& reason) {
  if (const char* require = std::getenv("NCCLPROBE_REQUIRE_GPU");
      require && std::string(require) == "1")
    FAIL("would skip, but NCCLPROBE_REQUIRE_GPU=1: " << reason);
  std::cout << "SKIPPED: " << reason << std::endl;
  skipped = true;
}

int run_tests(int argc, char** argv) {
  if (Catch::Session().run(argc, argv) != 0)
    return 1;
  return skipped ? 77 : 0;
}

} // namespace ncclprobe::support
