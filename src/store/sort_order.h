// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The part of row_sorter.h that does not depend on the type of the rows.
namespace ncclprobe::store {

// Positions of the keys in ascending order; equal keys keep their order. Empty if the keys are
// sorted already. At most 2^32 keys.
std::vector<std::uint32_t> sort_order(std::span<const std::uint64_t> keys);

} // namespace ncclprobe::store
