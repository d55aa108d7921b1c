// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/element_functions.h"
#include "support/catch.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ncclprobe::host {
namespace {

using model::DataType;
using model::ReduceOp;

// Straight from the definition of the format.
double value_of_f16(std::uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  double fraction = bits & 1023;
  double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T>
std::vector<T> reduce(DataType type, ReduceOp op, std::vector<T> a, const std::vector<T>& b) {
  reduce_function(type, op)(a.data(), a.data(), b.data(), a.size());
  return a;
}

TEST_CASE("every f16 is read as the format defines it, and written back") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<std::uint16_t>(bits);
    if (((half >> 10) & 31) == 31)
      continue; // infinity and not a number
    REQUIRE(static_cast<double>(float_from_f16(half)) == value_of_f16(half));
    REQUIRE(f16_from_float(float_from_f16(half)) == half);
  }
}

TEST_CASE("floats between two f16 go to the nearer one, halfway to the even one") {
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {
    auto low = static_cast<std::uint16_t>(bits);
    auto high = static_cast<std::uint16_t>(bits + 1);
    auto middle = static_cast<float>((value_of_f16(low) + value_of_f16(high)) / 2);
    REQUIRE(f16_from_float(middle) == (bits % 2 == 0 ? low : high));
    REQUIRE(f16_from_float(std::nextafter(middle, 0.0F)) == low);
    REQUIRE(f16_from_float(std::nextafter(middle, 1e9F)) == high);
    REQUIRE(f16_from_float(-middle) == ((bits % 2 == 0 ? low : high) | 0x8000));
  }
}

TEST_CASE("what f16 cannot hold becomes infinity or stays not a number") {
  CHECK(f16_from_float(65504) == 0x7BFF);
  CHECK(f16_from_float(65520) == 0x7C00);
  CHECK(f16_from_float(-1e30F) == 0xFC00);
  CHECK(std::isinf(float_from_f16(0x7C00)));
  CHECK(std::isnan(float_from_f16(f16_from_float(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("bf16 is the upper half of a float, rounded to nearest even") {
  CHECK(bf16_from_float(1.0F) == 0x3F80);
  CHECK(bf16_from_float(std::bit_cast<float>(0x3F80'8000U)) == 0x3F80); // halfway, down to even
  CHECK(bf16_from_float(std::bit_cast<float>(0x3F81'8000U)) == 0x3F82); // halfway, up to even
  CHECK(bf16_from_float(std::bit_cast<float>(0x3F80'8001U)) == 0x3F81);
  CHECK(float_from_bf16(0xC000) == -2.0F);
  CHECK(std::isnan(float_from_bf16(bf16_from_float(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("sum, max and min combine element by element") {
  CHECK(reduce<float>(DataType::f32, ReduceOp::sum, {1, -2}, {3, 4}) == std::vector<float>{4, 2});
  CHECK(reduce<double>(DataType::f64, ReduceOp::max, {1, -2}, {-3, 4}) ==
        std::vector<double>{1, 4});
  CHECK(reduce<std::int32_t>(DataType::i32, ReduceOp::min, {1, -2}, {-3, 4}) ==
        std::vector<std::int32_t>{-3, -2});
  CHECK(reduce<std::uint8_t>(DataType::u8, ReduceOp::max, {1, 200}, {3, 4}) ==
        std::vector<std::uint8_t>{3, 200});
  CHECK(reduce<std::uint16_t>(DataType::f16, ReduceOp::sum, {0x3C00}, {0x4000}) ==
        std::vector<std::uint16_t>{0x4200});
  CHECK(reduce<std::uint16_t>(DataType::bf16, ReduceOp::min, {0x3F80}, {0xC000}) ==
        std::vector<std::uint16_t>{0xC000});
}

TEST_CASE("integer sums wrap around") {
  CHECK(reduce<std::int32_t>(DataType::i32, ReduceOp::sum,
                             {std::numeric_limits<std::int32_t>::max()}, {1}) ==
        std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
  CHECK(reduce<std::uint8_t>(DataType::u8, ReduceOp::sum, {255}, {2}) ==
        std::vector<std::uint8_t>{1});
}

TEST_CASE("an average is a sum divided by the number of ranks, integers towards zero") {
  std::vector<std::int32_t> integers =
      reduce<std::int32_t>(DataType::i32, ReduceOp::avg, {-4, 5}, {-3, 5});
  std::vector<std::uint8_t> bytes{200};
  std::vector<float> floats{1};
  std::vector<std::uint16_t> halves{0x4200}; // 3

  finish_reduction(integers.data(), DataType::i32, ReduceOp::avg, 2, 2);
  finish_reduction(bytes.data(), DataType::u8, ReduceOp::avg, 1, 300);
  finish_reduction(floats.data(), DataType::f32, ReduceOp::avg, 1, 3);
  finish_reduction(halves.data(), DataType::f16, ReduceOp::avg, 1, 2);

  CHECK(integers == std::vector<std::int32_t>{-3, 5});
  CHECK(bytes == std::vector<std::uint8_t>{0});
  CHECK(floats == std::vector<float>{1.0F / 3.0F});
  CHECK(halves == std::vector<std::uint16_t>{0x3E00}); // 1.5
}

TEST_CASE("products multiply, integers wrapping around, and a premultiplied sum is doubled") {
  CHECK(reduce<std::uint16_t>(DataType::f16, ReduceOp::prod, {0x4200}, {0xC000}) ==
        std::vector<std::uint16_t>{0xC600});
  CHECK(reduce<std::int8_t>(DataType::i8, ReduceOp::prod, {-16, 100}, {7, 3}) ==
        std::vector<std::int8_t>{-112, 44});
  CHECK(reduce<std::uint64_t>(DataType::u64, ReduceOp::prod, {std::uint64_t{1} << 40},
                              {std::uint64_t{1} << 23}) ==
        std::vector<std::uint64_t>{std::uint64_t{1} << 63});
  std::vector<std::int64_t> sums =
      reduce<std::int64_t>(DataType::i64, ReduceOp::premul_sum, {-4}, {1});
  std::vector<std::uint8_t> narrow{0x38, 0x7B}; // 1 and 57344, the largest

  finish_reduction(sums.data(), DataType::i64, ReduceOp::premul_sum, 1, 5);
  finish_reduction(narrow.data(), DataType::f8e4m3, ReduceOp::premul_sum, 1, 5);
  finish_reduction(narrow.data() + 1, DataType::f8e5m2, ReduceOp::premul_sum, 1, 5);

  CHECK(sums == std::vector<std::int64_t>{-6});
  CHECK(narrow == std::vector<std::uint8_t>{0x40, 0x7B});
}

// From the OCP specification: largest, smallest, and not-a-number values.
TEST_CASE("8-bit floats are those of the OCP specification") {
  CHECK(float_from_f8e4m3(0x7E) == 448.0F);
  CHECK(float_from_f8e4m3(0x08) == std::ldexp(1.0F, -6));
  CHECK(float_from_f8e4m3(0x01) == std::ldexp(1.0F, -9));
  CHECK(float_from_f8e4m3(0xB8) == -1.0F);
  CHECK(std::isnan(float_from_f8e4m3(0xFF)));
  CHECK(float_from_f8e5m2(0x7B) == 57344.0F);
  CHECK(float_from_f8e5m2(0x04) == std::ldexp(1.0F, -14));
  CHECK(float_from_f8e5m2(0x01) == std::ldexp(1.0F, -16));
  CHECK(float_from_f8e5m2(0xFC) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float_from_f8e5m2(0xFF)));
}

TEST_CASE("every 8-bit float is written back, and between two the nearer or the even one") {
  auto check = [](auto load, auto store, unsigned largest) {
    for (unsigned bits = 0; bits <= largest; ++bits) {
      auto low = static_cast<std::uint8_t>(bits);
      auto high = static_cast<std::uint8_t>(bits + 1);
      REQUIRE(store(load(low)) == low);
      REQUIRE(store(-load(low)) == (low | 0x80));
      if (bits == largest)
        break;
      float middle = (load(low) + load(high)) / 2;
      REQUIRE(store(middle) == (bits % 2 == 0 ? low : high));
      REQUIRE(store(std::nextafter(middle, 0.0F)) == low);
      REQUIRE(store(std::nextafter(middle, 1e9F)) == high);
    }
    CHECK(store(1e30F) == largest);
    CHECK(std::isnan(load(store(std::numeric_limits<float>::quiet_NaN()))));
  };
  check(float_from_f8e4m3, f8e4m3_from_float, 0x7E);
  check(float_from_f8e5m2, f8e5m2_from_float, 0x7B);
}

} // namespace
} // namespace ncclprobe::host
