// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What a process with libncclprobe-tuner.so did with the rows of its table. The plugin writes it,
// and `ncclprobe tuner check` reads it.
namespace ncclprobe::tuning {

struct RowHits {
  std::uint64_t applied = 0;    // NCCL was told the row's choice
  std::uint64_t impossible = 0; // NCCL does not offer the row's choice; it kept its own
  bool operator==(const RowHits&) const = default;
};

struct HitCounts {
  std::string sha256; // of the table
  // Calls that no row covers, and groups of operations whose row has an estimate.
  std::uint64_t without_row = 0;
  std::uint64_t set_aside = 0; // calls whose row was measured on another machine
  std::vector<RowHits> rows;   // in the order of the table
  bool operator==(const HitCounts&) const = default;
};

std::string to_text(const HitCounts& counts);
// Errors: protocol, with `name` and the line.
Result<HitCounts> parse_hit_counts(std::string_view text, std::string_view name);

} // namespace ncclprobe::tuning
