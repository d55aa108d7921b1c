// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/chunk_codec.h"
#include "store/column_layout.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Columns of run files that are read in slices, without HDF5: nothing that damage could crash.
namespace ncclprobe::store {

// Throws base::Exception (io) if the file does not have these bytes.
void read_at(int fd, std::uint64_t at, std::span<std::byte> bytes);

// A column as HDF5 described it.
struct ColumnSource {
  std::optional<ColumnLayout> layout; // where its chunks lie
  // Without a layout: all values, as in the file. Small columns, those of files that other programs
  // wrote anew, and none for a column that is younger than the file.
  std::vector<std::byte> values;
  bool absent = false;
  std::vector<std::uint8_t> numbers; // of an enumeration: our number of each in the file
};

struct TableSource {
  std::uint64_t rows = 0;
  std::vector<ColumnSource> columns; // as columns(Row); none in files that are older than the table
};

// One thread at a time. Unpacks one chunk after the other.
class ColumnReader {
public:
  ColumnReader(int fd, const ColumnSource& source) : fd_(fd), source_(&source) {}

  // Values from row `first` on. Throws base::Exception.
  template <typename T>
  void read(std::uint64_t first, std::span<T> values) {
    read(first, std::as_writable_bytes(values), sizeof(T));
  }

private:
  void read(std::uint64_t first, std::span<std::byte> out, std::size_t value_bytes);
  void unpack(std::uint64_t chunk, std::size_t value_bytes);

  int fd_;
  const ColumnSource* source_;
  ChunkDecoder decoder_;
  std::optional<std::uint64_t> chunk_; // whose values are in chunk_values_
  std::vector<std::byte> chunk_values_;
  std::vector<std::byte> stored_;
};

} // namespace ncclprobe::store
