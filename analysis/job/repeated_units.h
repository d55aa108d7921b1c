// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// What a sequence repeats exactly, at any scale: layers within a step, steps, groups of steps.
namespace ncclprobe::analysis::job {

using Symbols = std::span<const std::uint32_t>;

// symbols[first, first + length): repeated at least three times in a row somewhere, and not itself
// a repetition.
struct Unit {
  std::size_t first = 0;
  std::size_t length = 0;
};

// Those found in windows of many lengths, the ones of long and frequent windows first. Rotations of
// a unit count as one. Time: linear in the length, about 50 passes.
inline constexpr std::size_t k_most_units = 32;
std::vector<Unit> repeated_units(Symbols symbols);

// The shortest length after which the symbols repeat; their number if they do not. At least one.
std::size_t period_of(Symbols symbols);

// The positions at which `unit` begins in `symbols`, overlapping ones too (Knuth, Morris and
// Pratt).
std::vector<std::size_t> matches_of(Symbols unit, Symbols symbols);

} // namespace ncclprobe::analysis::job
