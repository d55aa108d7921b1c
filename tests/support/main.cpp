// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// main of every Catch2 test program: 0 = passed, 1 = failed, 77 = skipped (ctest SKIP_RETURN_CODE).
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
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

} // namespace ncclprobe::support

int main(int argc, char** argv) {
  int failures = Catch::Session().run(argc, argv);
  if (failures != 0)
    return 1;
  return ncclprobe::support::skipped ? 77 : 0;
}
