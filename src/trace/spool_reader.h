// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_format.h"

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ncclprobe::trace {

// Rows in the file's memory layout; files of another build were refused before.
struct SpoolBlock {
  Table table = Table::strings;
  int rank = -1;
  std::uint32_t rows = 0;
  std::span<const std::byte> bytes;

  // Row must belong to this table.
  template <typename Row>
  std::vector<Row> as() const {
    std::vector<Row> all(rows);
    std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
    return all;
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

struct SpoolSummary {
  SpoolHeader header;
  std::uint64_t bytes_left_out = 0; // of a block that its process did not finish
};

// Errors: as read_spool().
Result<SpoolHeader> read_spool_header(const std::filesystem::path& path);

// Calls visit for each complete block, in the order of the file, with one block in memory. Errors:
// not_found, io, protocol (not a spool, another version, rows of another size; with the file and
// the place).
Result<SpoolSummary> read_spool(const std::filesystem::path& path,
                                const std::function<void(const SpoolBlock&)>& visit);

} // namespace ncclprobe::trace
