// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/outcome.h"

#include <algorithm>

namespace ncclprobe::model {

Outcome worse(Outcome a, const Outcome& b) {
  if (b.kind > a.kind)
    return b;
  if (b.kind < a.kind)
    return a;
  if (a.reason.empty())
    a.reason = b.reason;
  a.ranks.insert(a.ranks.end(), b.ranks.begin(), b.ranks.end());
  std::sort(a.ranks.begin(), a.ranks.end());
  a.ranks.erase(std::unique(a.ranks.begin(), a.ranks.end()), a.ranks.end());
  return a;
}

std::string format_ranks(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (last > i)
      text += fmt::format("{}{}", last > i + 1 ? "-" : ",", ranks[last]);
    i = last + 1;
  }
  return text;
}

} // namespace ncclprobe::model
