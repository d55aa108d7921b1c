// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The oracle against slow, independent ways to know the same.

#include "model/data_pattern.h"
#include "support/catch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace ncclprobe::model {
namespace {

// What a non-negative element with these bits is worth, by the definition of its type.
double decode(DataType type, std::uint64_t bits) {
  auto narrow = [bits](int mantissa, int bias) {
    int exponent = static_cast<int>(bits >> mantissa);
    auto fraction = static_cast<double>(bits & ((1U << mantissa) - 1));
    double whole = exponent == 0 ? fraction : fraction + (1 << mantissa);
    return std::ldexp(whole, std::max(exponent, 1) - bias - mantissa);
  };
  switch (type) {
  case DataType::i8:
  case DataType::u8:
  case DataType::i32:
  case DataType::u32:
  case DataType::i64:
  case DataType::u64:
    return static_cast<double>(bits);
  case DataType::f8e4m3:
    return narrow(3, 7);
  case DataType::f8e5m2:
    return narrow(2, 15);
  case DataType::f32:
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  case DataType::f64:
    return std::bit_cast<double>(bits);
  case DataType::bf16:
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  case DataType::f16:
    break;
  }
  return narrow(10, 15);
}

bool is_narrow(DataType type) {
  return is_float(type) && size_bytes(type) < 4;
}

std::uint64_t largest_narrow(DataType type) {
  return type == DataType::f16      ? 0x7BFF
         : type == DataType::bf16   ? 0x7F7F
         : type == DataType::f8e4m3 ? 0x7E
                                    : 0x7B;
}

// The narrow float next to a value, by bisection over all of them; halfway, the even one.
std::uint64_t nearest_narrow(DataType type, double value) {
  std::uint64_t low = 0;
  std::uint64_t high = largest_narrow(type);
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
  if (is_narrow(type))
    return decode(type, nearest_narrow(type, value));
  return type == DataType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::vector<int> rank_counts() {
  std::vector<int> counts(64);
  std::iota(counts.begin(), counts.end(), 1);
  counts.insert(counts.end(), {65, 100, 127, 128, 255, 256, 300, 511, 512, 1000, 1023, 1024});
  return counts;
}

// All types, operations and numbers of ranks that can be checked.
template <typename Check>
void for_each_pattern(Check check) {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (int ranks : rank_counts()) {
        if (!can_check(type, op, ranks))
          continue;
        INFO(type_name << " " << op_name << " ranks " << ranks);
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
  CHECK(decode(DataType::f8e4m3, encode(DataType::f8e4m3, 17)) != 17);
  CHECK(decode(DataType::f8e5m2, encode(DataType::f8e5m2, 9)) != 9);
  CHECK(encode(DataType::u8, 255) == k_poison_byte);
  CHECK(encode(DataType::i8, 127) == 0x7F); // the largest; the poison is -1
}

// One step of a reduction as a GPU does it: in the type, rounded or wrapped around after each step.
double step(DataType type, ReduceOp op, double a, double b) {
  double result = op == ReduceOp::max    ? std::max(a, b)
                  : op == ReduceOp::min  ? std::min(a, b)
                  : op == ReduceOp::prod ? a * b
                                         : a + b;
  if (is_float(type))
    return rounded(type, result);
  bool is_signed = type == DataType::i8 || type == DataType::i32 || type == DataType::i64;
  double range = std::ldexp(1.0, static_cast<int>(8 * size_bytes(type)) - (is_signed ? 1 : 0));
  return std::fmod(result, range);
}

// The same with the steps that an operation has before and after.
double reduced_in_order(DataType type, ReduceOp op, const std::vector<double>& inputs) {
  auto n = static_cast<double>(inputs.size());
  bool multiplies_by_fraction = op == ReduceOp::avg && is_float(type);
  double factor = op == ReduceOp::premul_sum ? 2
                  : multiplies_by_fraction   ? rounded(type, 1 / n)
                                             : 1;
  auto scaled = [&](double input) {
    return factor == 1 ? input : step(type, ReduceOp::prod, input, factor);
  };
  double result = scaled(inputs.front());
  for (std::size_t i = 1; i < inputs.size(); ++i)
    result = step(type, op, result, scaled(inputs[i]));
  return op == ReduceOp::avg && !is_float(type) ? std::floor(result / n) : result;
}

double reduced_as_tree(DataType type, ReduceOp op, std::vector<double> inputs) {
  auto n = static_cast<double>(inputs.size());
  double factor = op == ReduceOp::premul_sum              ? 2
                  : op == ReduceOp::avg && is_float(type) ? rounded(type, 1 / n)
                                                          : 1;
  if (factor != 1)
    for (double& input : inputs)
      input = step(type, ReduceOp::prod, input, factor);
  while (inputs.size() > 1) {
    std::size_t half = (inputs.size() + 1) / 2;
    for (std::size_t i = 0; i + half < inputs.size(); ++i)
      inputs[i] = step(type, op, inputs[i], inputs[i + half]);
    inputs.resize(half);
  }
  return op == ReduceOp::avg && !is_float(type) ? std::floor(inputs.front() / n) : inputs.front();
}

TEST_CASE("what ranks make of the inputs step by step in the type, in any order, is expected") {
  for_each_pattern([](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
    Expectation expected = expectation_for(Collective::all_reduce, op, 0, 60, 0, ranks);
    bool exact = op != ReduceOp::avg || !is_float(type);
    std::uint64_t indexes = ranks <= 9 ? 60 : 3;
    for (std::uint64_t i = 0; i < indexes; ++i) {
      std::vector<double> inputs;
      for (int rank = 0; rank < ranks; ++rank)
        inputs.push_back(pattern.value(rank, i));
      std::vector<double> backwards(inputs.rbegin(), inputs.rend());
      double wanted = expected.value(pattern, type, i);
      for (double result :
           {reduced_in_order(type, op, inputs), reduced_in_order(type, op, backwards),
            reduced_as_tree(type, op, inputs)}) {
        if (exact)
          REQUIRE(result == wanted);
        REQUIRE(matches(type, op, encode(type, result), wanted));
      }
    }
  });
}

TEST_CASE("no input and no result is the poison, and every input is exact in its type") {
  for_each_pattern([](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
    std::uint64_t poison = ~std::uint64_t{0} >> (64 - 8 * size_bytes(type));
    Expectation expected = expectation_for(Collective::all_reduce, op, 0, 8, 0, ranks);
    for (std::uint64_t i = 0; i < 8; ++i) {
      for (int rank = 0; rank < std::min(ranks, 20); ++rank) {
        std::uint64_t bits = encode(type, pattern.value(rank, i));
        REQUIRE(bits != poison);
        REQUIRE(decode(type, bits) == pattern.value(rank, i));
      }
      double result = expected.value(pattern, type, i);
      REQUIRE(encode(type, result) != poison);
      REQUIRE_FALSE(matches(type, op, poison, result));
    }
  });
}

TEST_CASE("inputs differ between ranks and between elements") {
  for_each_pattern([](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
    std::uint32_t least = op == ReduceOp::prod ? 4 : 8;
    REQUIRE(pattern.modulus >= (type == DataType::i8 && op == ReduceOp::prod ? 11 : least));
    std::set<std::vector<std::uint32_t>> rows;
    for (int rank = 0; rank < std::min(ranks, 64); ++rank) {
      std::vector<std::uint32_t> row;
      for (std::uint64_t index = 0; index < 3 * static_cast<std::uint64_t>(ranks) + 60; ++index)
        row.push_back(pattern.value(rank, index));
      rows.insert(std::move(row));
    }
    REQUIRE(rows.size() == static_cast<std::size_t>(std::min(ranks, 64)));
  });
}

// As many wrong elements as the result of `faulty` inputs has against the oracle.
template <typename Input>
int wrong_elements(DataType type, ReduceOp op, int ranks, const Pattern& pattern, Input input) {
  Expectation expected = expectation_for(Collective::all_reduce, op, 0, 4096, 0, ranks);
  int wrong = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    std::vector<double> inputs;
    for (int rank = 0; rank < ranks; ++rank)
      inputs.push_back(input(rank, i));
    double result = reduced_in_order(type, op, inputs);
    wrong += matches(type, op, encode(type, result), expected.value(pattern, type, i)) ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("faults show in every type and operation: shifted data, a stale or silent rank") {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (int ranks : {2, 3, 4, 8}) {
        Pattern pattern = pattern_for(77, Collective::all_reduce, type, op, ranks);
        Pattern before = pattern_for(78, Collective::all_reduce, type, op, ranks);
        auto right = [&](int rank, std::uint64_t i) { return pattern.value(rank, i); };
        auto shifted = [&](int rank, std::uint64_t i) { return pattern.value(rank, i + 1); };
        auto stale = [&](int rank, std::uint64_t i) {
          return rank == ranks - 1 ? before.value(rank, i) : pattern.value(rank, i);
        };
        auto doubled = [&](int rank, std::uint64_t i) {
          return pattern.value(rank == ranks - 1 ? 0 : rank, i);
        };

        INFO(type_name << " " << op_name << " ranks " << ranks);
        CHECK(wrong_elements(type, op, ranks, pattern, right) == 0);
        CHECK(wrong_elements(type, op, ranks, pattern, shifted) > 100);
        CHECK(wrong_elements(type, op, ranks, pattern, stale) > 100);
        CHECK(wrong_elements(type, op, ranks, pattern, doubled) > 100);
      }
}

TEST_CASE("blocks of different ranks differ in every type, also when they are short") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    Pattern pattern = pattern_for(77, Collective::all_gather, type, ReduceOp::sum, 8);
    for (int rank = 1; rank < 8; ++rank) {
      int same = 0;
      for (std::uint64_t i = 0; i < 1000; ++i)
        same += pattern.value(0, i) == pattern.value(rank, i) ? 1 : 0;
      INFO(name << " ranks 0 and " << rank);
      CHECK(same < 200);
    }
  }
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

TEST_CASE("narrow floats are encoded to nearest even, subnormals included") {
  for (DataType type : {DataType::f16, DataType::bf16, DataType::f8e4m3, DataType::f8e5m2}) {
    std::uint64_t first = type == DataType::bf16 ? 0x80 : 0; // bf16: by way of f32's normal numbers
    for (std::uint64_t bits = first; bits < largest_narrow(type); ++bits) {
      double low = decode(type, bits);
      double high = decode(type, bits + 1);
      for (double value :
           {low, low + (high - low) * 0.25, (low + high) / 2, low + (high - low) * 0.75}) {
        if (encode(type, value) != nearest_narrow(type, value))
          FAIL(to_string(type) << " between " << bits << " and the next: " << value);
      }
    }
  }
}

TEST_CASE("averages by division and by multiplication with 1/n are both within the tolerance") {
  for (DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                        DataType::f8e4m3, DataType::f8e5m2})
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
      else if (op == ReduceOp::prod)
        result *= in(rank, i);
      else
        result += in(rank, i);
    }
    if (op == ReduceOp::premul_sum)
      return 2 * result;
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
    case Collective::hypercube:
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
    case Collective::all_to_all_v: // the block from two ranks before, which lay at 100 there
      block_from((rank + 2 * n - 2) % n, 100);
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
              Expectation expected =
                  expectation_for(collective, op, root, count, rank, ranks, {2, 100});
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
