// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct libdeflate_compressor;
struct libdeflate_decompressor;

// HDF5's filters shuffle, deflate and fletcher32, in this order, implemented with libdeflate. It
// packs faster than the zlib inside HDF5 and unpacks twice as fast. The format is HDF5's, so every
// HDF5 can read it.
namespace ncclprobe::store {

inline constexpr unsigned k_deflate_level =
    2; // of libdeflate: as fast as 1 on such columns, and smaller

// One thread at a time.
class ChunkEncoder {
public:
  ChunkEncoder();
  // The bytes of the chunk as stored in the file; valid until the next call. Throws Exception
  // (failed).
  std::span<const std::byte> encode(const void* values, std::size_t value_bytes, std::size_t count);

private:
  std::span<const std::byte> pack(const void* values, std::size_t value_bytes, std::size_t count);

  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  std::vector<std::byte> shuffled_;
  std::vector<std::byte> packed_;
  // Packed chunks that repeat one value, which traces have many of; by value and size.
  std::map<std::pair<std::string, std::size_t>, std::vector<std::byte>> constant_;
};

// One thread at a time.
class ChunkDecoder {
public:
  ChunkDecoder();
  // Throws Exception (protocol): not such a chunk, or its checksum is wrong.
  void decode(std::span<const std::byte> stored, void* values, std::size_t value_bytes,
              std::size_t count);

private:
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const;
  };
  std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
  std::vector<std::byte> shuffled_;
};

// The checksum of HDF5's filter fletcher32.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

} // namespace ncclprobe::store
