// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/version_number.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::knowledge {

std::strong_ordering VersionNumber::operator<=>(const VersionNumber& other) const {
  std::size_t count = std::max(parts.size(), other.parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    int mine = i < parts.size() ? parts[i] : 0;
    int theirs = i < other.parts.size() ? other.parts[i] : 0;
    if (mine != theirs)
      return mine <=> theirs;
  }
  return std::strong_ordering::equal;
}

std::string VersionNumber::text() const {
  std::string joined;
  // Driver versions have two digits after the first dot: 525.60.13, 450.80.02.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    int digits = i > 0 && parts[0] >= 100 ? 2 : 1;
    joined += fmt::format("{}{:0{}}", i == 0 ? "" : ".", parts[i], digits);
  }
  return joined;
}

Result<VersionNumber> parse_version(std::string_view text) {
  VersionNumber version;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  if (at != end && (*at == 'r' || *at == 'R' || *at == 'v'))
    ++at;
  while (at != end) {
    int part = 0;
    auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || part < 0)
      break;
    version.parts.push_back(part);
    at = next;
    if (at == end || *at != '.')
      break;
    ++at;
  }
  if (version.parts.empty())
    return fail(Errc::invalid_argument, "'{}' is not a version number", text);
  return version;
}

} // namespace ncclprobe::knowledge
