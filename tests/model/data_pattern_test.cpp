// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The oracle against slow, independent ways to know the same.

#include "model/data_pattern.h"
#include "support/catch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

namespace ncclprobe::model {
namespace {

// What a non-negative element with these bits is worth, by the definition of its type.
double decode(DataType type, std::uint64_t bits) {
  switch (type) {
  case DataType::u8:
  case DataType::i32:
    return static_cast<double>(bits);
  case DataType::f32:
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  case DataType::f64:
    return std::bit_cast<double>(bits);
  case DataType::bf16:
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  case DataType::f16:
    break;
  }
  int exponent = static_cast<int>(bits >> 10);
  auto fraction = static_cast<double>(bits & 1023);
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

// The 16-bit float next to a value, by bisection over all of them; halfway, the even one.
std::uint64_t nearest_16_bit(DataType type, double value) {
  std::uint64_t low = 0;
  std::uint64_t high = type == DataType::f16 ? 0x7BFF : 0x7F7F;
  while (high - low > 1) {
    std::uint64_t middle = (low + high) / 2;
    (decode(type, middle) <= value ? low : high) = middle;
  }
  double below = value - decode(type, low);
  double above = decode(type, high) - value;
  if (below == above)
    return low % 2 == 0 ? low : high;
  return below < above ? low : high;
}

// A value rounded to the type.
double rounded(DataType type, double value) {
  if (type == DataType::f16 || type == DataType::bf16)
    return decode(type, nearest_16_bit(type, value));
  return type == DataType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

template <typename Check>
void for_each_pattern(Check check) {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg})
      for (int ranks = 2; ranks <= 64; ++ranks) {
        INFO(type_name << " " << to_string(op) << " ranks " << ranks);
        check(type, op, ranks, pattern_for(77, Collective::all_reduce, type, op, ranks));
      }
}

TEST_CASE("integers up to the limit of a type are exact, and none is the poison") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    std::uint64_t poison = 0;
    for (std::size_t i = 0; i < size_bytes(type); ++i)
      poison = poison << 8 | k_poison_byte;
    std::uint32_t step = exact_limit(type) > 10'000 ? 9973 : 1;
    std::vector<std::uint32_t> values{exact_limit(type), exact_limit(type) - 1};
    for (std::uint32_t value = 0; value < exact_limit(type); value += step)
      values.push_back(value);
    for (std::uint32_t value : values) {
      INFO(name << " " << value);
      REQUIRE(decode(type, encode(type, value)) == value);
      REQUIRE(encode(type, value) != poison);
    }
  }
}

TEST_CASE("the limit of the narrow types is the largest there is") {
  CHECK(decode(DataType::bf16, encode(DataType::bf16, 257)) != 257);
  CHECK(decode(DataType::f16, encode(DataType::f16, 2049)) != 2049);
  CHECK(decode(DataType::f32, encode(DataType::f32, (1 << 24) + 1)) != (1 << 24) + 1);
  CHECK(encode(DataType::u8, 255) == k_poison_byte);
}

TEST_CASE("no partial sum of 2 to 64 ranks is inexact, in any order of additions") {
  for_each_pattern([](DataType type, ReduceOp, int ranks, const Pattern& pattern) {
    // All contributions are non-negative, so every partial sum is at most the whole.
    std::uint64_t contributors =
        (static_cast<std::uint64_t>(ranks) + pattern.sparsity - 1) / pattern.sparsity;
    REQUIRE(contributors * (pattern.modulus - 1) <= exact_limit(type));
    for (std::uint64_t index = 0; index < 200; ++index) {
      std::uint64_t whole = 0;
      for (int rank = 0; rank < ranks; ++rank)
        whole += pattern.value(rank, index);
      REQUIRE(whole <= exact_limit(type));
      REQUIRE(decode(type, encode(type, static_cast<double>(whole))) == static_cast<double>(whole));
    }
  });
}

TEST_CASE("inputs differ between ranks and between elements") {
  for_each_pattern([](DataType, ReduceOp, int ranks, const Pattern& pattern) {
    REQUIRE(pattern.modulus >= 8);
    std::set<std::vector<std::uint32_t>> rows;
    std::uint64_t nonzero = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::uint32_t> row;
      for (std::uint64_t index = 0; index < 1000; ++index)
        row.push_back(pattern.value(rank, index));
      nonzero += static_cast<std::uint64_t>(1000 - std::count(row.begin(), row.end(), 0U));
      rows.insert(std::move(row));
    }
    REQUIRE(rows.size() == static_cast<std::size_t>(ranks));
    REQUIRE(nonzero >= 700); // of 1000 elements at least that many have a rank that contributes
  });
}

TEST_CASE("where averages round, each element comes from one rank") {
  for (int ranks : {3, 5, 6, 7, 48}) {
    Pattern pattern = pattern_for(1, Collective::all_reduce, DataType::f32, ReduceOp::avg, ranks);
    for (std::uint64_t index = 0; index < 500; ++index) {
      int contributors = 0;
      for (int rank = 0; rank < ranks; ++rank)
        contributors += pattern.value(rank, index) != 0 ? 1 : 0;
      REQUIRE(contributors <= 1);
    }
  }
}

TEST_CASE("f16 is encoded to nearest even, subnormals included") {
  for (std::uint64_t bits = 0; bits < 0x7BFF; ++bits) {
    double low = decode(DataType::f16, bits);
    double high = decode(DataType::f16, bits + 1);
    for (double value :
         {low, low + (high - low) * 0.25, (low + high) / 2, low + (high - low) * 0.75}) {
      INFO("between " << bits << " and the next: " << value);
      REQUIRE(encode(DataType::f16, value) == nearest_16_bit(DataType::f16, value));
    }
  }
}

TEST_CASE("bf16 is encoded to nearest even") {
  for (std::uint64_t bits = 0x0080; bits < 0x7F00; bits += 7) {
    double low = decode(DataType::bf16, bits);
    double high = decode(DataType::bf16, bits + 1);
    for (double value :
         {low, low + (high - low) * 0.25, (low + high) / 2, low + (high - low) * 0.75}) {
      INFO("between " << bits << " and the next: " << value);
      REQUIRE(encode(DataType::bf16, value) == nearest_16_bit(DataType::bf16, value));
    }
  }
}

TEST_CASE("averages by division and by multiplication with 1/n are both within the tolerance") {
  for (DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16})
    for (int ranks = 2; ranks <= 64; ++ranks) {
      Pattern pattern = pattern_for(3, Collective::all_reduce, type, ReduceOp::avg, ranks);
      Expectation expected =
          expectation_for(Collective::all_reduce, ReduceOp::avg, 0, 300, 0, ranks);
      for (std::uint64_t i = 0; i < 300; ++i) {
        double sum = 0;
        for (int rank = 0; rank < ranks; ++rank)
          sum += pattern.value(rank, i);
        double divided = rounded(type, sum / ranks);
        double multiplied = rounded(type, sum * rounded(type, 1.0 / ranks));

        INFO(to_string(type) << " ranks " << ranks << " sum " << sum);
        REQUIRE(
            matches(type, ReduceOp::avg, encode(type, divided), expected.value(pattern, type, i)));
        REQUIRE(matches(type, ReduceOp::avg, encode(type, multiplied),
                        expected.value(pattern, type, i)));
      }
    }
}

TEST_CASE("the tolerance is two units for averages of floats and none for all else") {
  std::uint64_t third = encode(DataType::f32, 1.0 / 3);

  CHECK(matches(DataType::f32, ReduceOp::avg, third + 2, 1.0 / 3));
  CHECK(matches(DataType::f32, ReduceOp::avg, third - 2, 1.0 / 3));
  CHECK_FALSE(matches(DataType::f32, ReduceOp::avg, third + 3, 1.0 / 3));
  CHECK_FALSE(matches(DataType::f32, ReduceOp::sum, third + 1, 1.0 / 3));
  CHECK_FALSE(matches(DataType::i32, ReduceOp::avg, 6, 5));
  CHECK(matches(DataType::i32, ReduceOp::avg, 5, 5));
}

// A collective written down from NCCL's documentation: what stands in each rank's output, or
// nothing.
std::vector<std::vector<double>> play(Collective collective, DataType type, ReduceOp op, int root,
                                      std::uint64_t count, int ranks, const Pattern& pattern) {
  auto n = static_cast<std::uint64_t>(ranks);
  auto in = [&](std::uint64_t rank, std::uint64_t i) {
    return static_cast<double>(pattern.value(static_cast<int>(rank), i));
  };
  auto reduced = [&](std::uint64_t i) {
    double result = in(0, i);
    for (std::uint64_t rank = 1; rank < n; ++rank) {
      if (op == ReduceOp::max)
        result = std::max(result, in(rank, i));
      else if (op == ReduceOp::min)
        result = std::min(result, in(rank, i));
      else
        result += in(rank, i);
    }
    if (op != ReduceOp::avg)
      return result;
    return is_float(type) ? result / ranks : std::floor(result / ranks);
  };
  std::vector<std::vector<double>> outputs(n);
  for (std::uint64_t rank = 0; rank < n; ++rank) {
    auto& out = outputs[rank];
    bool is_root = rank == static_cast<std::uint64_t>(root);
    auto block_from = [&](std::uint64_t source, std::uint64_t first) {
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(in(source, first + i));
    };
    switch (collective) {
    case Collective::reduce:
      if (!is_root)
        break;
      [[fallthrough]];
    case Collective::all_reduce:
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(reduced(i));
      break;
    case Collective::reduce_scatter:
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(reduced(rank * count + i));
      break;
    case Collective::broadcast:
      block_from(static_cast<std::uint64_t>(root), 0);
      break;
    case Collective::gather:
      if (!is_root)
        break;
      [[fallthrough]];
    case Collective::all_gather:
      for (std::uint64_t source = 0; source < n; ++source)
        block_from(source, 0);
      break;
    case Collective::scatter:
      block_from(static_cast<std::uint64_t>(root), rank * count);
      break;
    case Collective::all_to_all:
      for (std::uint64_t source = 0; source < n; ++source)
        block_from(source, rank * count);
      break;
    case Collective::send_recv:
      block_from(rank == 0 ? n - 1 : rank - 1, 0);
      break;
    }
  }
  return outputs;
}

TEST_CASE("what is expected of each rank is what the collective's definition gives") {
  for (const auto& [collective, name] : enum_names(Collective{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (DataType type : {DataType::f32, DataType::i32})
        for (int ranks : {1, 2, 3, 5})
          for (std::uint64_t count : {0, 1, 7}) {
            int root = ranks - 1;
            Pattern pattern = pattern_for(13, collective, type, op, ranks);
            auto outputs = play(collective, type, op, root, count, ranks, pattern);
            for (int rank = 0; rank < ranks; ++rank) {
              Expectation expected = expectation_for(collective, op, root, count, rank, ranks);
              std::vector<double> values;
              for (std::uint64_t i = 0; i < expected.count; ++i)
                values.push_back(expected.value(pattern, type, i));

              INFO(name << " " << op_name << " rank " << rank << " of " << ranks << " count "
                        << count);
              REQUIRE(values == outputs[static_cast<std::size_t>(rank)]);
            }
          }
}

} // namespace
} // namespace ncclprobe::model
