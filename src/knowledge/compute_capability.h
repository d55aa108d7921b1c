// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <compare>
#include <string>
#include <string_view>

// A device calls itself "8.9", nvcc calls its machine code "sm_89" and its PTX "compute_89": the
// same number, and all three are accepted everywhere.
namespace ncclprobe::knowledge {

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;

  std::string text() const; // "8.9"
  std::string sm() const;   // "sm_89"
};

// Which capabilities other than its own can run code for a target.
enum class Reach {
  portable, // sm_90: later minors of its major; as PTX all later capabilities
  family,   // sm_100f: its family only
  exact,    // sm_90a: its own capability only
};

struct CodeTarget {
  ComputeCapability capability;
  Reach reach = Reach::portable;
  auto operator<=>(const CodeTarget&) const = default;

  std::string sm() const;      // "sm_90a"
  std::string compute() const; // "compute_90a"
};

// "8.9", "sm_89", "compute_89", "89", "9.0a", "sm_100f". Errors: invalid_argument.
Result<CodeTarget> parse_code_target(std::string_view text);
// The same without the suffixes a and f. Errors: invalid_argument.
Result<ComputeCapability> parse_compute_capability(std::string_view text);

} // namespace ncclprobe::knowledge
