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
using model::Number;
using model::Pattern;
using model::ReduceOp;

// Also the last of a chunk, and more than one chunk.
constexpr std::uint64_t k_count = 2500;

std::vector<std::byte> encode_all(DataType type, std::uint64_t count, auto number_at) {
  std::size_t size = model::size_bytes(type);
  std::vector<std::byte> bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits =
        model::encode(type, number_at(i)); // little-endian: the low bytes come first
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

TEST_CASE("fill writes what the pattern says, for every type, operation and number of ranks") {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (Collective collective : {Collective::all_reduce, Collective::all_gather})
        for (int ranks : {1, 2, 3, 40}) {
          Pattern pattern = model::pattern_for(0xFEDCBA9876543210, collective, type, op, ranks);
          for (int rank : {0, ranks / 2, ranks - 1}) {
            std::vector<std::byte> filled(k_count * model::size_bytes(type));

            fill_pattern(filled.data(), type, pattern, rank, k_count);

            INFO(type_name << " " << op_name << " " << to_string(collective) << " rank " << rank
                           << " of " << ranks);
            REQUIRE(filled == encode_all(type, k_count,
                                         [&](std::uint64_t i) { return pattern.number(rank, i); }));
          }
        }
}

TEST_CASE("compare accepts what the oracle expects, and nothing next to it") {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (const auto& [collective, name] : enum_names(Collective{}))
        for (int ranks : {1, 2, 3, 8, 40}) {
          Pattern pattern = model::pattern_for(5, collective, type, op, ranks);
          int rank = ranks - 1;
          std::uint64_t count = reduces(collective) && ranks <= 3 ? k_count : 97;
          Expectation expected =
              model::expectation_for(collective, op, rank, count, rank, ranks, {2, 1000});
          auto data = encode_all(type, expected.count, [&](std::uint64_t i) {
            return expected.number(pattern, type, i);
          });

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

TEST_CASE("compare forgives a rounded average two units in the last place, not three") {
  Pattern pattern = model::pattern_for(5, Collective::all_reduce, DataType::f32, ReduceOp::avg, 3);
  Expectation expected = model::expectation_for(Collective::all_reduce, ReduceOp::avg, 0, 1, 0, 3);
  std::uint64_t exact = model::encode(DataType::f32, expected.number(pattern, DataType::f32, 0));
  for (std::uint32_t off : {0U, 2U, 3U}) {
    auto bits = static_cast<std::uint32_t>(exact) + off;

    CHECK(compare_pattern(&bits, DataType::f32, pattern, expected).wrong == (off == 3 ? 1 : 0));
  }
}

TEST_CASE("every byte that is no longer poison is counted, and the first one shown") {
  std::vector<std::byte> data(1000, std::byte{model::k_poison_byte});

  CHECK(compare_poison(data.data(), data.size()).wrong == 0);
  CHECK(compare_poison(data.data(), data.size()).elements == 1000);
  CHECK(compare_poison(data.data(), 0).elements == 0);

  data[7] = std::byte{0xFE};
  data[999] = std::byte{0};
  backend::Mismatch found = compare_poison(data.data(), data.size());

  CHECK(found.wrong == 2);
  CHECK(found.first == 7);
  CHECK(found.first_bits == 0xFE);
  CHECK(compare_poison(data.data() + 8, 991).wrong == 0);
}

} // namespace
} // namespace ncclprobe::host
