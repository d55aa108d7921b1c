// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/chunk_codec.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>
#include <libdeflate.h>
#include <new>

namespace ncclprobe::store {
namespace {

constexpr std::size_t k_sum_bytes = 4;

// All first bytes, then all second ones, ... The size is a template argument, so the compiler
// can unroll.
template <std::size_t Bytes>
void shuffle(const std::byte* values, std::size_t count, std::byte* out) {
  for (std::size_t b = 0; b < Bytes; ++b)
    for (std::size_t i = 0; i < count; ++i)
      out[b * count + i] = values[i * Bytes + b];
}
template <std::size_t Bytes>
void unshuffle(const std::byte* planes, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t b = 0; b < Bytes; ++b)
      out[i * Bytes + b] = planes[b * count + i];
}

bool all_equal(const std::byte* values, std::size_t value_bytes, std::size_t count) {
  return count > 0 && std::memcmp(values, values + value_bytes, (count - 1) * value_bytes) == 0;
}

} // namespace

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  // Over big-endian 16-bit words, as HDF5 does it; 360 words cannot overflow.
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  auto fold = [&] {
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  };
  auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::size_t i = 0;
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    std::size_t some = std::min<std::size_t>(words, 360);
    words -= some;
    for (; some > 0; --some, i += 2) {
      first += at(i) << 8 | at(i + 1);
      second += first;
    }
    fold();
  }
  if (i < bytes.size()) {
    first += at(i) << 8;
    second += first;
    fold();
  }
  fold();
  return second << 16 | first;
}

void ChunkEncoder::Free::operator()(libdeflate_compressor* compressor) const {
  libdeflate_free_compressor(compressor);
}
void ChunkDecoder::Free::operator()(libdeflate_decompressor* decompressor) const {
  libdeflate_free_decompressor(decompressor);
}

ChunkEncoder::ChunkEncoder() : compressor_(libdeflate_alloc_compressor(k_deflate_level)) {
  if (!compressor_)
    throw std::bad_alloc();
}
ChunkDecoder::ChunkDecoder() : decompressor_(libdeflate_alloc_decompressor()) {
  if (!decompressor_)
    throw std::bad_alloc();
}

std::span<const std::byte> ChunkEncoder::encode(const void* values, std::size_t value_bytes,
                                                std::size_t count) {
  const auto* bytes = static_cast<const std::byte*>(values);
  if (!all_equal(bytes, value_bytes, count))
    return pack(values, value_bytes, count);
  std::pair key{std::string(reinterpret_cast<const char*>(bytes), value_bytes), count};
  auto known = constant_.find(key);
  if (known == constant_.end()) {
    if (constant_.size() >= 1'000)
      constant_.clear();
    auto packed = pack(values, value_bytes, count);
    known = constant_.emplace(key, std::vector<std::byte>(packed.begin(), packed.end())).first;
  }
  return known->second;
}

std::span<const std::byte> ChunkEncoder::pack(const void* values, std::size_t value_bytes,
                                              std::size_t count) {
  const auto* bytes = static_cast<const std::byte*>(values);
  const std::size_t size = value_bytes * count;
  if (value_bytes > 1) {
    shuffled_.resize(std::max(shuffled_.size(), size));
    switch (value_bytes) {
    case 2:
      shuffle<2>(bytes, count, shuffled_.data());
      break;
    case 4:
      shuffle<4>(bytes, count, shuffled_.data());
      break;
    case 8:
      shuffle<8>(bytes, count, shuffled_.data());
      break;
    default:
      raise(Errc::failed, "values of {} bytes", value_bytes);
    }
    bytes = shuffled_.data();
  }
  std::size_t most = libdeflate_zlib_compress_bound(compressor_.get(), size);
  packed_.resize(std::max(packed_.size(), most + k_sum_bytes));
  std::size_t length =
      libdeflate_zlib_compress(compressor_.get(), bytes, size, packed_.data(), most);
  if (length == 0)
    raise(Errc::failed, "libdeflate cannot pack {} bytes", size);
  std::uint32_t sum = fletcher32({packed_.data(), length});
  for (std::size_t i = 0; i < k_sum_bytes; ++i)
    packed_[length + i] = static_cast<std::byte>(sum >> 8 * i);
  return {packed_.data(), length + k_sum_bytes};
}

void ChunkDecoder::decode(std::span<const std::byte> stored, void* values, std::size_t value_bytes,
                          std::size_t count) {
  if (stored.size() < k_sum_bytes)
    raise(Errc::protocol, "a chunk is too short");
  auto packed = stored.first(stored.size() - k_sum_bytes);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < k_sum_bytes; ++i)
    sum |= std::to_integer<std::uint32_t>(stored[packed.size() + i]) << 8 * i;
  if (sum != fletcher32(packed))
    raise(Errc::protocol, "a chunk's checksum does not fit it");
  const std::size_t size = value_bytes * count;
  auto* out = static_cast<std::byte*>(values);
  std::byte* planes = out;
  if (value_bytes > 1) {
    shuffled_.resize(std::max(shuffled_.size(), size));
    planes = shuffled_.data();
  }
  if (libdeflate_zlib_decompress(decompressor_.get(), packed.data(), packed.size(), planes, size,
                                 nullptr) != LIBDEFLATE_SUCCESS)
    raise(Errc::protocol, "a chunk cannot be unpacked to {} bytes", size);
  switch (value_bytes) {
  case 1:
    break;
  case 2:
    unshuffle<2>(planes, count, out);
    break;
  case 4:
    unshuffle<4>(planes, count, out);
    break;
  case 8:
    unshuffle<8>(planes, count, out);
    break;
  default:
    raise(Errc::protocol, "values of {} bytes", value_bytes);
  }
}

} // namespace ncclprobe::store
