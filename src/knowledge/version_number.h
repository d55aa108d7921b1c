// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::knowledge {

// "12.1", "525.60.13", "2.28.3": numbers compared from the left, missing ones count as 0.
struct VersionNumber {
  std::vector<int> parts;

  std::strong_ordering operator<=>(const VersionNumber& other) const;
  bool operator==(const VersionNumber& other) const { return (*this <=> other) == 0; }
  int major() const { return parts.empty() ? 0 : parts[0]; }
  int minor() const { return parts.size() < 2 ? 0 : parts[1]; }
  std::string text() const;
};

// Reads the leading numbers: "2.28.3+cuda13.0" is 2.28.3, "r570" is 570. Errors: invalid_argument
// if there is none.
Result<VersionNumber> parse_version(std::string_view text);

} // namespace ncclprobe::knowledge
