// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Catch2 is v2 on Debian 12 and v3 later; tests include only this.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& part) {
  return Catch::Matchers::Contains(part);
}
#endif

namespace ncclprobe::support {

// Notes that this test case was skipped, and why. A program that skipped all its cases exits with
// 77, which ctest shows as "Skipped". With NCCLPROBE_REQUIRE_GPU=1 in the environment it fails
// instead.
void note_skip(const std::string& reason);

} // namespace ncclprobe::support

// Ends the test case: this machine lacks something that it needs.
#define NCCLPROBE_SKIP(reason)                                                                     \
  do {                                                                                             \
    ::ncclprobe::support::note_skip(reason);                                                       \
    return;                                                                                        \
  } while (false)
