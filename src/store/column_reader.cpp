// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/column_reader.h"

#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::store {

void read_at(int fd, std::uint64_t at, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      raise(Errc::io, "cannot be read: {}", got < 0 ? std::strerror(errno) : "it is too short");
    at += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(got);
  }
}

base::Fd open_columns(const std::filesystem::path& file) {
  if (file.empty())
    return {};
  base::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    raise(Errc::io, "cannot be read: {}", std::strerror(errno));
  return fd;
}

void ColumnReader::read(std::uint64_t first, std::span<std::byte> values, std::size_t value_bytes) {
  copy(first, values, value_bytes);
  if (source_->numbers.empty())
    return;
  for (std::byte& value : values) {
    const auto number = std::to_integer<std::size_t>(value);
    if (number >= source_->numbers.size())
      raise(Errc::failed, "a column has unknown value {}", number);
    value = std::byte{source_->numbers[number]};
  }
}

void ColumnReader::copy(std::uint64_t first, std::span<std::byte> out, std::size_t value_bytes) {
  if (!source_->layout) {
    if ((first * value_bytes) + out.size() > source_->values.size())
      raise(Errc::protocol, "a column is too short");
    std::memcpy(out.data(), source_->values.data() + first * value_bytes, out.size());
    return;
  }
  const ColumnLayout& layout = *source_->layout;
  while (!out.empty()) {
    const std::uint64_t chunk = first / layout.chunk_rows;
    if (chunk_ != chunk)
      unpack(chunk, value_bytes);
    const std::uint64_t behind = first - chunk * layout.chunk_rows;
    const std::size_t some =
        std::min<std::size_t>(out.size(), (layout.chunk_rows - behind) * value_bytes);
    std::memcpy(out.data(), chunk_values_.data() + behind * value_bytes, some);
    first += some / value_bytes;
    out = out.subspan(some);
  }
}

void ColumnReader::unpack(std::uint64_t chunk, std::size_t value_bytes) {
  const ColumnLayout& layout = *source_->layout;
  if (layout.value_bytes != value_bytes || chunk >= layout.chunks.size())
    raise(Errc::protocol, "a column is too short");
  chunk_.reset();
  const StoredChunk& place = layout.chunks[chunk];
  // Chunks that ncclprobe writes are never larger than their values plus what deflate can add.
  const std::uint64_t bytes = layout.chunk_rows * value_bytes;
  if (place.bytes > bytes + bytes / 100 + 1000)
    raise(Errc::protocol, "a chunk claims {} bytes", place.bytes);
  stored_.resize(place.bytes);
  read_at(fd_, place.at, stored_);
  chunk_values_.resize(bytes);
  if (!decoder_)
    decoder_.emplace();
  decoder_->decode(stored_, chunk_values_.data(), value_bytes, layout.chunk_rows);
  chunk_ = chunk;
}

} // namespace ncclprobe::store
