// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tree.h"

#include <algorithm>

namespace ncclprobe::launch {

TreePlace place_in_tree(int rank, int size, int fan_out) {
  TreePlace place;
  place.end = size;
  for (int at = 0; true;) {
    place.children.clear();
    const int below = place.end - at - 1;
    const int children = std::min(below, fan_out);
    auto start = [&](int child) {
      return at + 1 + static_cast<int>(static_cast<long long>(below) * child / children);
    };
    for (int child = 0; child < children; ++child)
      place.children.push_back({start(child), start(child + 1)});
    if (at == rank)
      return place;
    const auto next = std::ranges::find_if(
        place.children, [rank](const Branch& branch) { return rank < branch.end; });
    place.parent = at;
    at = next->first;
    place.end = next->end;
  }
}

} // namespace ncclprobe::launch
