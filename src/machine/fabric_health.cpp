// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/fabric_health.h"

#include <array>

namespace ncclprobe::topology {

std::optional<std::vector<std::string>> fabric_complaints(std::uint32_t mask) {
  // Two bits each: 0 not supported, 1 yes, 2 no.
  constexpr std::array k_questions{"bandwidth degraded", "route recovery in progress",
                                   "route unhealthy", "access timeout recovery in progress"};
  std::vector<std::string> complaints;
  bool answered = false;
  for (std::size_t i = 0; i < k_questions.size(); ++i) {
    std::uint32_t answer = mask >> (2 * i) & 3U;
    answered = answered || answer != 0;
    if (answer == 1)
      complaints.emplace_back(k_questions[i]);
  }
  if (std::uint32_t configuration = mask >> 8 & 0xFU; configuration != 0) { // 1: correct
    answered = true;
    if (configuration > 1)
      complaints.emplace_back("incorrect configuration");
  }
  return answered ? std::optional(std::move(complaints)) : std::nullopt;
}

} // namespace ncclprobe::topology
