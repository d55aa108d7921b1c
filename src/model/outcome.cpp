// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/outcome.h"

#include "base/number_list.h"

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
  std::ranges::sort(a.ranks);
  a.ranks.erase(std::unique(a.ranks.begin(), a.ranks.end()), a.ranks.end());
  return a;
}

std::string format_ranks(std::vector<int> ranks) {
  return base::format_number_list(std::move(ranks));
}

} // namespace ncclprobe::model
