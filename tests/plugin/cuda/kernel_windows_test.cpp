// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_windows.h"

#include "support/catch.h"

#include <vector>

using namespace ncclprobe::plugin;

TEST_CASE("kernels are recorded in some steps of many, from the first that is known") {
  KernelWindows windows(5, 100);
  constexpr std::uint64_t k_step_ns = 25'000'000;

  CHECK_FALSE(windows.wants({false, 0, false}, 0));
  for (std::uint64_t step = 3; step < 503; ++step) {
    CAPTURE(step);
    CHECK(windows.wants({true, step, false}, step * k_step_ns) == ((step - 3) % 100 <= 5));
  }
  CHECK_FALSE(windows.wants({true, 503, true}, 503 * k_step_ns)); // a limit has ended it all
  CHECK(KernelWindows(10, 0).wants({false, 0, false}, 0));        // no window: always
}

TEST_CASE("a job whose steps do not repeat is recorded by time") {
  KernelWindows windows(5, 100);
  std::uint64_t on_ms = 0;

  for (std::uint64_t ms = 0; ms < 200'000; ms += 10)
    on_ms += windows.wants({false, 0, false}, ms * 1'000'000) ? 10 : 0;

  CHECK(on_ms == 9'000);
  CHECK(windows.wants({true, 1, false}, 200'000'000'000)); // steps at last
  CHECK_FALSE(windows.wants({false, 7, false}, 219'000'000'000));
  CHECK(windows.wants({false, 7, false}, 220'500'000'000));
}

TEST_CASE("kernels are recorded from the first step again if the count of steps falls") {
  struct Case {
    std::uint64_t step;
    bool wanted;
  };
  const std::vector<Case> cases{{250, true}, {256, false}, {10, true},  {15, true},
                                {16, false}, {109, false}, {110, true}, {9, true}};
  KernelWindows windows(5, 100);

  for (const auto& [step, wanted] : cases) {
    CAPTURE(step);
    CHECK(windows.wants({true, step, false}, step) == wanted);
  }
}
