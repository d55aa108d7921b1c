// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ncclprobe::store {

// Where the chunks of a column lie in the file.
struct StoredChunk {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};
NCCLPROBE_FIELDS(StoredChunk, at, bytes)
struct ColumnLayout {
  std::size_t value_bytes = 0;
  bool is_signed = false;
  std::uint64_t rows = 0;
  std::uint64_t chunk_rows = 0;
  std::vector<StoredChunk> chunks;
};
NCCLPROBE_FIELDS(ColumnLayout, value_bytes, is_signed, rows, chunk_rows, chunks)

} // namespace ncclprobe::store
