// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

// The part of row_sorter.h that does not depend on the type of the rows.
namespace ncclprobe::store {

// Positions of the keys in ascending order; equal keys keep their order. Empty if the keys are
// sorted already. At most 2^32 keys.
std::vector<std::uint32_t> sort_order(std::span<const std::uint64_t> keys);

// A file without a name, made when it is first written to. Throws Exception (io).
class ScratchFile {
public:
  explicit ScratchFile(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void append(std::span<const std::byte> bytes);
  void read(std::uint64_t at, std::span<std::byte> bytes) const;

private:
  std::filesystem::path folder_;
  base::Fd fd_;
};

} // namespace ncclprobe::store
