// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::search {

using Random = std::mt19937_64;

// Fisher and Yates's. std::shuffle differs between libraries. (The modulo's bias is below 1e-15.)
template <class T>
void put_in_random_order(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<std::size_t>(random() % i)]);
}

} // namespace ncclprobe::analysis::search
