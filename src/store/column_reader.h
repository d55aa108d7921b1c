// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"
#include "store/chunk_codec.h"
#include "store/column_layout.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

// Reads columns of run files in slices, without HDF5, so damage cannot crash it.
namespace ncclprobe::store {

// Throws Exception (io) if the file does not have these bytes.
void read_at(int fd, std::uint64_t at, std::span<std::byte> bytes);

// Bytes in a scratch file.
struct SetAside {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

// A column as HDF5 described it, or as it is put together (tables.h).
struct ColumnSource {
  std::optional<ColumnLayout> layout; // where its chunks lie
  std::vector<SetAside> set_aside;    // its first values; only while it is put together
  std::vector<std::byte> values;      // without a layout: all others
  // For an enumeration: our number of each number in the file. They are matched by labels, so a
  // file whose enumeration had another order is read correctly.
  std::vector<std::uint8_t> numbers;
};

// Opens the file in which columns lie; an empty Fd if `file` is empty. Throws Exception (io).
base::Fd open_columns(const std::filesystem::path& file);

// One thread at a time. Unpacks one chunk after the other.
class ColumnReader {
public:
  ColumnReader(int fd, const ColumnSource& source) : fd_(fd), source_(&source) {}

  // Values from row `first` on. Throws Exception.
  void read(std::uint64_t first, std::span<std::byte> values, std::size_t value_bytes);

private:
  void copy(std::uint64_t first, std::span<std::byte> out, std::size_t value_bytes);
  void unpack(std::uint64_t chunk, std::size_t value_bytes);

  int fd_;
  const ColumnSource* source_;
  std::optional<ChunkDecoder> decoder_; // most columns need none
  std::optional<std::uint64_t> chunk_;  // whose values are in chunk_values_
  std::vector<std::byte> chunk_values_;
  std::vector<std::byte> stored_;
};

} // namespace ncclprobe::store
