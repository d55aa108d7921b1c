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

#if __has_include(<catch2/catch_all.hpp>)
using Catch::EventListenerBase;
#else
using EventListenerBase = Catch::TestEventListenerBase;
#endif

namespace ncclprobe::support {
namespace {

struct Cases {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

Cases cases;
std::string skip_reason; // of the case that runs; empty: it was not skipped

class CountCases : public EventListenerBase {
public:
  using EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    name_ = info.name;
    skip_reason.clear();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.testCases.failed > 0) {
      ++cases.failed;
    } else if (!skip_reason.empty()) {
      ++cases.skipped;
      std::cout << "SKIPPED: " << name_ << ": " << skip_reason << '\n';
    } else {
      ++cases.passed;
    }
  }

private:
  std::string name_;
};

CATCH_REGISTER_LISTENER(CountCases)

} // namespace

void note_skip(const std::string& reason) {
  if (const char* require = std::getenv("NCCLPROBE_REQUIRE_GPU");
      require && std::string(require) == "1")
    FAIL("would skip, but NCCLPROBE_REQUIRE_GPU=1: " << reason);
  skip_reason = reason;
}

int run_tests(int argc, char** argv) {
  const int trouble = Catch::Session().run(argc, argv);
  if (cases.passed + cases.failed + cases.skipped > 0)
    std::cout << "CASES: " << cases.passed << " passed, " << cases.failed << " failed, "
              << cases.skipped << " skipped" << std::endl;
  if (trouble != 0)
    return 1;
  return cases.skipped > 0 && cases.passed == 0 ? 77 : 0;
}

} // namespace ncclprobe::support
