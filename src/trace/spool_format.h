// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <array>
#include <cstdint>
#include <string_view>

// The spool: the private file of a traced process. A header, then blocks. It is only appended to,
// so a kill costs at most the block that was being written. The same build on the same host reads
// it, hence rows have their memory layout.
namespace ncclprobe::trace {

inline constexpr std::array<char, 8> k_spool_magic{'N', 'C', 'P', 'S', 'P', 'O', 'O', 'L'};
inline constexpr std::uint32_t k_block_magic = 0x4b4c424e;

// The host name of rows that no machine measured: an artificial one that no reader can miss.
inline constexpr std::string_view k_synthetic_host = "synthetic (no measurements)";

struct SpoolHeader {
  std::array<char, 8> magic = k_spool_magic;
  std::uint32_t version = k_rows_version;
  std::uint32_t process = 0;
  std::uint64_t start_ns = 0;    // CLOCK_MONOTONIC_RAW when it was opened
  std::uint64_t realtime_ns = 0; // CLOCK_REALTIME at the same moment
  std::array<char, 40> boot_id{};
  std::array<char, 64> host{};
};

// Before each block. A block of texts (Table::strings) is one text; its number is its position
// among them, from 1.
struct BlockHeader {
  std::uint32_t magic = k_block_magic;
  Table table = Table::strings;
  std::uint16_t row_bytes = 1;
  std::int32_t rank = -1; // global; texts have none; rows about the process have its first rank
  std::uint32_t rows = 0;
};

} // namespace ncclprobe::trace
