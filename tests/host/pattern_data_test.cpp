// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The fast loops against the oracle, element by element.

#include "host/pattern_data.h"
#include "support/catch.h"

#include <cstring>
#include <vector>

namespace ncclprobe::host {
namespace {

using model::Collective;
using model::DataType;
using model::Expectation;
using model::Pattern;
using model::ReduceOp;

std::vector<std::byte> encode_all(DataType type, std::uint64_t count, auto value_at) {
  std::size_t size = model::size_bytes(type);
  std::vector<std::byte> bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits =
        model::encode(type, value_at(i)); // little-endian: the low bytes come first
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

TEST_CASE("fill writes what the pattern says, for every modulus and sparsity") {
  constexpr std::uint64_t k_count = 500;
  for (std::uint32_t modulus :
       {1U, 2U, 7U, 8U, 255U, 256U, 2049U, 5592406U, (1U << 24) - 1, 1U << 24})
    for (std::uint32_t sparsity : {1U, 2U, 3U, 7U})
      for (int rank : {0, 1, 6, 63}) {
        Pattern pattern{0xFEDCBA9876543210, modulus, sparsity, sparsity - 1, modulus / 2};
        std::vector<std::byte> filled(k_count * 8);

        fill_pattern(filled.data(), DataType::f64, pattern, rank, k_count);

        INFO("modulus " << modulus << " sparsity " << sparsity << " rank " << rank);
        REQUIRE(filled == encode_all(DataType::f64, k_count, [&](std::uint64_t i) {
                  return static_cast<double>(pattern.value(rank, i));
                }));
      }
}

TEST_CASE("compare accepts what the oracle expects, and nothing next to it") {
  constexpr std::uint64_t k_count = 97;
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (const auto& [collective, name] : enum_names(Collective{}))
        for (int ranks : {1, 2, 3, 8, 40}) {
          Pattern pattern = model::pattern_for(5, collective, type, op, ranks);
          int rank = ranks - 1;
          Expectation expected =
              model::expectation_for(collective, op, rank, k_count, rank, ranks, {2, 1000});
          auto data = encode_all(type, expected.count,
                                 [&](std::uint64_t i) { return expected.value(pattern, type, i); });

          backend::Mismatch right = compare_pattern(data.data(), type, pattern, expected);
          std::size_t element = model::size_bytes(type) * (expected.count - 2);
          data[element + model::size_bytes(type) - 1] ^=
              std::byte{0x40}; // an upper bit of the last but one
          backend::Mismatch wrong = compare_pattern(data.data(), type, pattern, expected);

          INFO(name << " " << type_name << " " << op_name << " ranks " << ranks);
          REQUIRE(right.elements == expected.count);
          REQUIRE(right.wrong == 0);
          REQUIRE(wrong.wrong == 1);
          REQUIRE(wrong.first == expected.count - 2);
        }
}

TEST_CASE("compare follows the oracle where ranks that stand aside change the result") {
  for (const auto& [op, name] : enum_names(ReduceOp{})) {
    Pattern pattern{9, 6, 3, 2, 1}; // a rest that is neutral to a product only
    Expectation expected{true, op, 4, 0, 5, 60, 60};
    auto data = encode_all(DataType::f64, expected.count, [&](std::uint64_t i) {
      return expected.value(pattern, DataType::f64, i);
    });

    INFO(name);
    CHECK(compare_pattern(data.data(), DataType::f64, pattern, expected).wrong == 0);
  }
}

TEST_CASE("compare forgives a rounded average two units in the last place, not three") {
  Pattern pattern = model::pattern_for(5, Collective::all_reduce, DataType::f32, ReduceOp::avg, 3);
  Expectation expected = model::expectation_for(Collective::all_reduce, ReduceOp::avg, 0, 1, 0, 3);
  std::uint64_t exact = model::encode(DataType::f32, expected.value(pattern, DataType::f32, 0));
  for (std::uint32_t off : {0U, 2U, 3U}) {
    auto bits = static_cast<std::uint32_t>(exact) + off;

    CHECK(compare_pattern(&bits, DataType::f32, pattern, expected).wrong == (off == 3 ? 1 : 0));
  }
}

} // namespace
} // namespace ncclprobe::host
