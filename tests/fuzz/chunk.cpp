// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/chunk_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

using namespace ncclprobe;

// The first byte: the size of a value, and whether the checksum is made right, so that the rest is
// read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2)
    return 0;
  const std::size_t value_bytes = std::size_t{1} << (data[0] & 3);
  const std::size_t count = std::size_t{1} + data[1] * std::size_t{16};
  const auto* first = reinterpret_cast<const std::byte*>(data + 2);
  std::vector<std::byte> stored(first, first + size - 2);
  std::vector<std::byte> values(value_bytes * count);
  store::ChunkEncoder encoder;
  store::ChunkDecoder decoder;
  if ((data[0] & 4) != 0) {
    const std::uint32_t sum = store::fletcher32(stored);
    const auto* sum_bytes = reinterpret_cast<const std::byte*>(&sum);
    stored.insert(stored.end(), sum_bytes, sum_bytes + sizeof sum);
  }
  try {
    decoder.decode(stored, values.data(), value_bytes, count);
    const auto again = encoder.encode(values.data(), value_bytes, count);
    std::vector<std::byte> second(values.size());
    decoder.decode(again, second.data(), value_bytes, count);
    if (second != values)
      std::abort();
  } catch (const std::exception&) {
  }
  return 0;
}
