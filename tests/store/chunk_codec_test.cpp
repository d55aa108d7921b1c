// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/error.h"
#include "store/chunk_codec.h"
#include "support/catch.h"

#include <cstring>
#include <random>

using namespace ncclprobe;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <typename T>
std::vector<T> through(const std::vector<T>& values) {
  store::ChunkEncoder encoder;
  store::ChunkDecoder decoder;
  auto stored = encoder.encode(values.data(), sizeof(T), values.size());
  std::vector<T> back(values.size());
  decoder.decode(stored, back.data(), sizeof(T), back.size());
  return back;
}

template <typename T>
std::vector<T> random_values(std::size_t count) {
  std::mt19937_64 random(5);
  std::vector<T> values(count);
  for (T& value : values)
    value = static_cast<T>(random());
  return values;
}

} // namespace

// That HDF5 computes the same shows in trace_h5py_test.cpp.
TEST_CASE("fletcher32 takes big-endian words, and a last odd byte") {
  REQUIRE(store::fletcher32(bytes_of("abcde")) == 0x4ff029c7U);
  REQUIRE(store::fletcher32(bytes_of("abcdef")) == 0x50562a2dU);
}

TEST_CASE("a chunk comes back as it was, for all sizes of values") {
  REQUIRE(through(random_values<std::uint8_t>(65'536)) == random_values<std::uint8_t>(65'536));
  REQUIRE(through(random_values<std::uint16_t>(777)) == random_values<std::uint16_t>(777));
  REQUIRE(through(random_values<std::uint32_t>(1)) == random_values<std::uint32_t>(1));
  REQUIRE(through(random_values<std::uint64_t>(65'536)) == random_values<std::uint64_t>(65'536));
}

TEST_CASE("chunks of one value are packed once and come back each as its own") {
  store::ChunkEncoder encoder;
  store::ChunkDecoder decoder;
  for (std::uint32_t value : {7U, 8U, 7U}) {
    std::vector<std::uint32_t> values(1'000, value);
    auto stored = encoder.encode(values.data(), 4, values.size());
    std::vector<std::uint32_t> back(1'000);
    decoder.decode(stored, back.data(), 4, back.size());
    REQUIRE(back == values);
  }
}

TEST_CASE("a chunk with a wrong bit, or cut short, is refused") {
  std::vector<std::uint64_t> values = random_values<std::uint64_t>(100);
  store::ChunkEncoder encoder;
  store::ChunkDecoder decoder;
  auto stored = encoder.encode(values.data(), 8, values.size());
  std::vector<std::byte> damaged(stored.begin(), stored.end());
  std::vector<std::byte> cut(damaged.begin(), damaged.begin() + 50);
  damaged[20] ^= std::byte{4};

  REQUIRE_THROWS_AS(decoder.decode(damaged, values.data(), 8, 100), base::Exception);
  REQUIRE_THROWS_AS(decoder.decode(cut, values.data(), 8, 100), base::Exception);
  REQUIRE_THROWS_AS(decoder.decode({}, values.data(), 8, 100), base::Exception);
  REQUIRE_THROWS_AS(decoder.decode(stored, values.data(), 8, 99), base::Exception);
}
