// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ncclprobe::launch {

// A child in the tree of supervisors, with all below it: a contiguous range of ranks.
struct Branch {
  int first = 0; // the child
  int end = 0;
};

struct TreePlace {
  int parent = -1; // of rank 0: none
  int end = 0;     // its own branch is [rank, end)
  std::vector<Branch> children;
};

// Where a rank is in the tree of `size` supervisors below rank 0. Each has at most `fan_out`
// children, whose branches are equally large. Neighbours share a branch, so a lost host is in few.
TreePlace place_in_tree(int rank, int size, int fan_out);

} // namespace ncclprobe::launch
