// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Reads the first bytes of an HDF5 file, without HDF5.
namespace ncclprobe::store {

inline constexpr std::string_view k_hdf5_signature{"\x89HDF\r\n\x1a\n", 8};
inline constexpr std::size_t k_superblock_bytes = 48; // of the format that ncclprobe writes

// The file's size according to its superblock of version 2 or 3 (HDF5 1.10's format, which
// ncclprobe writes). Empty if it has no superblock, or one of another version.
inline std::optional<std::uint64_t> stated_file_bytes(std::string_view superblock) {
  constexpr std::size_t k_version_at = 8;
  constexpr std::size_t k_end_of_file_at = 28; // little-endian
  if (superblock.size() < k_superblock_bytes || !superblock.starts_with(k_hdf5_signature) ||
      superblock[k_version_at] < 2 || superblock[k_version_at] > 3)
    return std::nullopt;
  std::uint64_t bytes = 0;
  for (std::size_t i = 8; i-- > 0;)
    bytes = bytes << 8 | static_cast<unsigned char>(superblock[k_end_of_file_at + i]);
  return bytes;
}

} // namespace ncclprobe::store
