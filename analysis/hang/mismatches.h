// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/verdict.h"

namespace ncclprobe::analysis::hang {

inline constexpr std::size_t k_most_mismatches = 20; // of a group; the first ones

// In what two calls at one position differ.
std::optional<Argument> difference(const Call& one, const Call& other);

// Collectives that ranks called differently at the same position, in the order of groups and
// positions.
std::vector<Mismatch> find_mismatches(const Job& job);

} // namespace ncclprobe::analysis::hang
