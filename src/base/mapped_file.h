// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>
#include <string_view>
#include <utility>

namespace ncclprobe::base {

// A file's bytes in memory, read only. Pages are loaded on access, so a library of several GB only
// costs what is read of it. If the file is truncated meanwhile, the process ends (SIGBUS).
class MappedFile {
public:
  MappedFile() = default; // no bytes
  // Errors: not_found, io; invalid_argument if the file is not regular or is empty.
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  // Gives its memory back. What is read again is loaded again.
  void release() const;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace ncclprobe::base
