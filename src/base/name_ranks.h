// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/number_list.h"

namespace ncclprobe::base {

// "rank 3", "ranks 0-3,6".
inline std::string name_ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + format_number_list(ranks);
}

} // namespace ncclprobe::base
