// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace ncclprobe::store {

// A file without a name, made when it is first written to. Throws Exception (io).
class ScratchFile {
public:
  explicit ScratchFile(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Returns where in the file they begin.
  std::uint64_t append(std::span<const std::byte> bytes);
  void read(std::uint64_t at, std::span<std::byte> bytes) const;

private:
  std::filesystem::path folder_;
  base::Fd fd_;
  std::uint64_t size_ = 0;
};

} // namespace ncclprobe::store
