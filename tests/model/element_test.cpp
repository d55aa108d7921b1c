// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/element.h"
#include "model/type_arithmetic.h"
#include "support/catch.h"

#include <cmath>
#include <limits>

namespace ncclprobe::model {
namespace {

std::uint64_t sign_bit(DataType type) {
  return std::uint64_t{1} << (8 * size_bytes(type) - 1);
}

std::uint64_t largest_narrow(DataType type) {
  return type == DataType::f16      ? 0x7BFF
         : type == DataType::bf16   ? 0x7F7F
         : type == DataType::f8e4m3 ? 0x7E
                                    : 0x7B;
}

TEST_CASE("narrow floats are encoded to nearest even, subnormals and both signs included") {
  for (DataType type : {DataType::f16, DataType::bf16, DataType::f8e4m3, DataType::f8e5m2}) {
    std::uint64_t first = type == DataType::bf16 ? 0x80 : 0; // bf16: by way of f32's normal numbers
    for (std::uint64_t bits = first; bits < largest_narrow(type); ++bits) {
      auto low = static_cast<double>(decode(type, bits));
      auto high = static_cast<double>(decode(type, bits + 1));
      std::uint64_t even = bits % 2 == 0 ? bits : bits + 1;
      auto is_right = [&](double value, std::uint64_t wanted) {
        return encode(type, value) == wanted && encode(type, -value) == (wanted | sign_bit(type));
      };
      if (!is_right(low, bits) || !is_right(low + (high - low) * 0.25, bits) ||
          !is_right((low + high) / 2, even) || !is_right(low + (high - low) * 0.75, bits + 1))
        FAIL(to_string(type) << " between " << bits << " and the next");
    }
  }
}

TEST_CASE("integers of as many bits as are exact, and no more, are encoded as they are") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    INFO(name);
    auto most = static_cast<std::uint64_t>(-1) >> (64 - exact_bits(type));
    for (std::uint64_t units : {most, most - 1, most / 2 + 1, most / 3, std::uint64_t{1}}) {
      auto number = static_cast<std::int64_t>(units);
      CHECK(decode(type, encode(type, Number{number})) == static_cast<Exact>(units));
      if (!is_unsigned(type))
        CHECK(decode(type, encode(type, Number{-number})) == -static_cast<Exact>(units));
    }
    if (is_float(type)) {
      auto limit = static_cast<Exact>(most) + 1;
      CHECK(rounded(type, limit) == limit);
      CHECK(rounded(type, limit + 1) != limit + 1);
    }
  }
}

TEST_CASE("an integer that must not be the poison becomes the one below") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    if (is_float(type))
      continue;
    INFO(name);
    CHECK(encode(type, Number{-1}) == all_ones(type));
    CHECK(encode(type, Number{-1, 0, true}) == all_ones(type) - 1);
    CHECK(encode(type, Number{-2, 0, true}) == all_ones(type) - 1);
    CHECK(encode(type, Number{0, 0, true}) == 0);
  }
}

TEST_CASE("a scale and a divisor count in floats, and the sum is rounded once") {
  CHECK(encode(DataType::f32, Number{-3, 4}) == bits_of(-48.0F));
  CHECK(encode(DataType::f32, Number{1, 0, false, 3}) == bits_of(1.0F / 3));
  CHECK(encode(DataType::f64, Number{-1, 2, false, 3}) == bits_of(-4.0 / 3));
  CHECK(encode(DataType::bf16, Number{255, 12}) == bits_of(255.0F * 4096) >> 16);
  CHECK(decode(DataType::f8e5m2, encode(DataType::f8e5m2, Number{-7, 9})) == -7 * 512);
  CHECK(decode(DataType::f8e4m3, encode(DataType::f8e4m3, Number{15, 0, false, 64})) == 15.0L / 64);
  CHECK(decode(DataType::f16, encode(DataType::f16, Number{-1, 0, false, 512})) == -1.0L / 512);
}

TEST_CASE("zero is positive in every type") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    INFO(name);
    CHECK(encode(type, Number{0, type == DataType::bf16 ? 12 : 0}) == 0);
  }
}

} // namespace
} // namespace ncclprobe::model
