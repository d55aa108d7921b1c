// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The oracle against slow, independent ways to know the same.

#include "model/data_pattern.h"
#include "model/type_arithmetic.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace ncclprobe::model {
namespace {

std::vector<int> some_rank_counts() {
  std::vector<int> counts(20);
  std::iota(counts.begin(), counts.end(), 1);
  counts.insert(counts.end(), {31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255, 256, 512, 1024});
  return counts;
}

// All types and operations, and these numbers of ranks, as far as they can be checked.
template <typename Check>
void for_each_pattern(const std::vector<int>& rank_counts, Check check) {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (int ranks : rank_counts) {
        if (!can_check(type, op, ranks))
          continue;
        INFO(type_name << " " << op_name << " ranks " << ranks);
        check(type, op, ranks, pattern_for(77, Collective::all_reduce, type, op, ranks));
      }
}

std::uint64_t input(const Pattern& pattern, DataType type, int rank, std::uint64_t index) {
  return encode(type, pattern.number(rank, index));
}

// The values of the inputs, one by one.
std::vector<Exact> inputs_at(const Pattern& pattern, DataType type, int ranks,
                             std::uint64_t index) {
  std::vector<Exact> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(decode(type, input(pattern, type, rank, index)));
  return inputs;
}

Exact largest(DataType type) {
  switch (type) {
  case DataType::f64:
    return 0x1.fffffffffffffp1023L;
  case DataType::f32:
    return 0x1.fffffep127L;
  case DataType::bf16:
    return 0x1.fep127L;
  case DataType::f16:
    return 65504;
  case DataType::f8e4m3:
    return 448;
  case DataType::f8e5m2:
    return 57344;
  default:
    return std::ldexp(Exact{1}, exact_bits(type)) - 1;
  }
}

// Adds, multiplies ... without rounding or overflow, in 128 bits; products of unsigned numbers
// modulo the type's range. Floats in units of the pattern's scale.
__extension__ using Wide = __int128;
Wide reduced_exactly(DataType type, ReduceOp op, const Pattern& pattern, int ranks,
                     std::uint64_t index) {
  auto units = [&](int rank) {
    Number number = pattern.number(rank, index);
    // Inputs of integers as they are stored: never the poison.
    return is_float(type) ? static_cast<Wide>(number.units)
                          : static_cast<Wide>(decode(type, encode(type, number)));
  };
  Wide result = units(0);
  for (int rank = 1; rank < ranks; ++rank) {
    Wide one = units(rank);
    if (op == ReduceOp::max)
      result = std::max(result, one);
    else if (op == ReduceOp::min)
      result = std::min(result, one);
    else if (op != ReduceOp::prod)
      result += one;
    else if (is_unsigned(type))
      result = static_cast<Wide>(
          static_cast<std::uint64_t>(result) * static_cast<std::uint64_t>(one) & all_ones(type));
    else
      result *= one;
  }
  if (op == ReduceOp::premul_sum)
    result *= k_premul_scalar;
  return op == ReduceOp::avg && !is_float(type) ? result / ranks : result;
}

TEST_CASE(
    "the result is the exact one: nothing is rounded, and only unsigned products wrap around") {
  for_each_pattern(
      some_rank_counts(), [](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
        Expectation expected = expectation_for(Collective::all_reduce, op, 0, 40, 0, ranks);
        for (std::uint64_t i = 0; i < (ranks <= 20 ? 40 : 5); ++i) {
          Number number = expected.number(pattern, type, i);
          Exact value = decode(type, encode(type, number));
          auto exact = static_cast<Exact>(reduced_exactly(type, op, pattern, ranks, i)) *
                       std::ldexp(Exact{1}, is_float(type) ? pattern.lead.scale : 0);
          if (op == ReduceOp::avg && is_float(type))
            exact /= ranks;
          if (expected.tolerance(type) == 0)
            REQUIRE(value == exact);
          else
            REQUIRE(value == rounded(type, exact));
        }
      });
}

// Also with partial results kept in a wider type, as libraries do for narrow floats.
TEST_CASE("every order of reduction, step by step in the type, gives the result, 1 to 512 ranks") {
  std::vector<int> counts(512);
  std::iota(counts.begin(), counts.end(), 1);
  for_each_pattern(counts, [](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
    Expectation expected = expectation_for(Collective::all_reduce, op, 0, 60, 0, ranks);
    for (std::uint64_t i = 0; i < (ranks <= 9 ? 60 : 1); ++i) {
      std::vector<Exact> inputs = inputs_at(pattern, type, ranks, i);
      for (Exact& one : inputs)
        one = before_reduction(type, op, ranks, one);
      std::uint64_t wanted = encode(type, expected.number(pattern, type, i));
      for (DataType kept_in :
           {type, size_bytes(type) < 4 && is_float(type) ? DataType::f32 : type}) {
        Exact all = reduced_in_random_order(kept_in, op, inputs, 31 * i + 7);
        Exact result = after_reduction(type, op, ranks, rounded(type, all));
        Exact ulp = std::fabs(decode(type, wanted ^ 1) - decode(type, wanted));
        Exact off = std::fabs(result - decode(type, wanted));
        REQUIRE(off <= static_cast<Exact>(expected.tolerance(type)) * ulp);
        REQUIRE(std::fabs(all) <= largest(type));
      }
    }
  });
}

TEST_CASE("no partial sum, product or input leaves the range in which signed numbers are exact") {
  for_each_pattern(
      some_rank_counts(), [](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
        if (is_unsigned(type) && op == ReduceOp::prod)
          return; // wraps around
        Exact limit = std::ldexp(Exact{1}, exact_bits(type)) - (is_float(type) ? 0 : 1);
        for (std::uint64_t i = 0; i < 20; ++i) {
          Exact sum = 0;
          Exact product = 1;
          for (int rank = 0; rank < ranks; ++rank) {
            auto magnitude = std::fabs(static_cast<Exact>(
                is_unsigned(type)
                    ? static_cast<Exact>(static_cast<std::uint64_t>(pattern.number(rank, i).units))
                    : static_cast<Exact>(pattern.number(rank, i).units)));
            REQUIRE(magnitude <= limit);
            sum += magnitude;
            product *= magnitude;
          }
          if (op == ReduceOp::premul_sum && !is_float(type))
            sum *= k_premul_scalar;
          bool adds = op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premul_sum;
          if (adds)
            REQUIRE(sum <= limit);
          if (op == ReduceOp::prod)
            REQUIRE(product <= limit);
        }
      });
}

TEST_CASE("no result and no number to copy is the poison, a negative zero, or no number") {
  for_each_pattern(
      some_rank_counts(), [](DataType type, ReduceOp op, int ranks, const Pattern& pattern) {
        Expectation expected = expectation_for(Collective::all_reduce, op, 0, 200, 0, ranks);
        std::uint64_t negative_zero = std::uint64_t{1} << (8 * size_bytes(type) - 1);
        auto is_proper = [&](std::uint64_t bits) {
          return bits != all_ones(type) &&
                 (!is_float(type) ||
                  (bits != negative_zero && std::fabs(decode(type, bits)) <= largest(type)));
        };
        Pattern copied = pattern_for(77, Collective::all_gather, type, op, ranks);
        for (std::uint64_t i = 0; i < 200; ++i) {
          for (int rank = 0; rank < std::min(ranks, 20); ++rank) {
            REQUIRE(is_proper(input(copied, type, rank, i)));
            if (is_float(type))
              REQUIRE(is_proper(input(pattern, type, rank, i)));
          }
          REQUIRE(is_proper(encode(type, expected.number(pattern, type, i))));
        }
      });
}

TEST_CASE("inputs have both signs and every bit of the type is set in some and not in others") {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (Collective collective : {Collective::all_gather, Collective::all_reduce})
      for (int ranks : {1, 2, 3, 8, 512}) {
        INFO(type_name << " " << to_string(collective) << " ranks " << ranks);
        Pattern pattern = pattern_for(3, collective, type, ReduceOp::sum, ranks);
        std::uint64_t set = 0;
        std::uint64_t unset = 0;
        int negative = 0;
        int positive = 0;
        constexpr int k_elements = 8192;
        for (std::uint64_t i = 0; i < k_elements; ++i) {
          Number number = pattern.number(0, i);
          auto units = static_cast<std::uint64_t>(std::abs(number.units));
          if (is_unsigned(type))
            units = static_cast<std::uint64_t>(number.units);
          set |= units;
          unset |= ~units;
          negative += number.units < 0 && !is_unsigned(type) ? 1 : 0;
          positive += number.units > 0 || is_unsigned(type) ? 1 : 0;
        }
        std::uint64_t magnitude = ~std::uint64_t{0} >> (64 - exact_bits(type));
        // An integer lead's highest bit is always set, and a float lead's is left to the sum.
        std::uint64_t varied = reduces(collective) ? magnitude >> 2 : magnitude;
        CHECK((set & varied) == varied);
        CHECK((unset & varied) == varied);
        if (!is_float(type) || !reduces(collective))
          CHECK(((set & magnitude) | magnitude >> 1) == magnitude);
        if (is_unsigned(type))
          CHECK(negative == 0);
        else
          CHECK(std::abs(negative - positive) < (negative + positive) / 5);
      }
}

TEST_CASE("without signs nothing is negative") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    INFO(name);
    for (Collective collective : {Collective::all_gather, Collective::all_reduce}) {
      Pattern pattern = pattern_for(3, collective, type, ReduceOp::sum, 4, Signs::none);
      for (std::uint64_t i = 0; i < 1000; ++i)
        REQUIRE(decode(type, input(pattern, type, 1, i)) >= 0);
    }
  }
}

TEST_CASE("results have both signs, and those of wide types need their upper half and all digits") {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min,
                      ReduceOp::premul_sum, ReduceOp::avg})
    for (int ranks : {1, 2, 3, 8, 64, 512}) {
      INFO(to_string(op) << " ranks " << ranks);
      auto share = [&](DataType type, auto holds) {
        Pattern pattern = pattern_for(3, Collective::all_reduce, type, op, ranks);
        Expectation expected = expectation_for(Collective::all_reduce, op, 0, 1000, 0, ranks);
        int count = 0;
        for (std::uint64_t i = 0; i < 1000; ++i)
          count += holds(decode(type, encode(type, expected.number(pattern, type, i)))) ? 1 : 0;
        return count / 1000.0;
      };
      for (DataType type : {DataType::i32, DataType::i64, DataType::f32, DataType::f64}) {
        double negative = share(type, [](Exact value) { return value < 0; });
        CHECK(negative > 0.2);
        CHECK(negative < 0.8);
      }
      Exact half = std::ldexp(Exact{1}, 32);
      for (DataType type : {DataType::i64, DataType::u64})
        CHECK(share(type, [&](Exact value) { return std::fabs(value) >= half; }) > 0.99);
      // Values that need more digits than f32 and f64 have.
      CHECK(share(DataType::f64,
                  [](Exact value) { return rounded(DataType::f32, value) != value; }) > 0.99);
      CHECK(share(DataType::i64, [](Exact value) {
              return rounded(DataType::f64, value) != value;
            }) > (op == ReduceOp::avg ? 0.2 : 0.85));
      CHECK(share(DataType::i32, [](Exact value) {
              return rounded(DataType::f32, value) != value;
            }) > (op == ReduceOp::avg ? -1 : 0.85));
    }
}

TEST_CASE("each rank leads in turn, and followers differ from rank to rank") {
  for (int ranks : {2, 3, 8, 100}) {
    Pattern pattern = pattern_for(5, Collective::all_reduce, DataType::f32, ReduceOp::sum, ranks);
    std::vector<int> led(static_cast<std::size_t>(ranks));
    const int elements = 100 * ranks;
    for (int i = 0; i < elements; ++i)
      ++led[static_cast<std::size_t>(
          pattern.leader(Pattern::shared_bits(pattern.seed, static_cast<std::uint64_t>(i))))];

    INFO(ranks);
    CHECK(*std::min_element(led.begin(), led.end()) > 50);
    CHECK(*std::max_element(led.begin(), led.end()) < 200);
  }
}

TEST_CASE(
    "numbers of neighbouring ranks, elements and seeds are equal no more often than by chance") {
  for (const auto& [type, name] : enum_names(DataType{})) {
    Pattern pattern = pattern_for(77, Collective::all_gather, type, ReduceOp::sum, 8);
    Pattern next_seed = pattern_for(78, Collective::all_gather, type, ReduceOp::sum, 8);
    constexpr int k_elements = 2000;
    auto equal = [&](const Pattern& other, int rank, std::uint64_t shift) {
      int count = 0;
      for (std::uint64_t i = 0; i < k_elements; ++i)
        count += input(pattern, type, 3, i) == input(other, type, rank, i + shift) ? 1 : 0;
      return count;
    };
    int by_chance = k_elements >> std::min(exact_bits(type) + (is_unsigned(type) ? 0 : 1), 20);
    int most = 2 * by_chance + 10;
    INFO(name << ": at most " << most);
    for (std::uint64_t shift = 1; shift <= 300; ++shift)
      REQUIRE(equal(pattern, 3, shift) <= most);
    for (int rank = 0; rank < 64; ++rank)
      if (rank != 3)
        REQUIRE(equal(pattern, rank, 0) <= most);
    for (std::uint64_t shift : {0, 1, 2})
      REQUIRE(equal(next_seed, 3, shift) <= most);
  }
}

TEST_CASE("where averages round, each element comes from one rank") {
  for (int ranks : {3, 5, 6, 7, 48}) {
    Pattern pattern = pattern_for(1, Collective::all_reduce, DataType::f32, ReduceOp::avg, ranks);
    for (std::uint64_t index = 0; index < 500; ++index) {
      int contributors = 0;
      for (int rank = 0; rank < ranks; ++rank)
        contributors += pattern.number(rank, index).units != 0 ? 1 : 0;
      REQUIRE(contributors == 1);
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
        auto inputs = inputs_at(pattern, type, ranks, i);
        Exact sum = std::accumulate(inputs.begin(), inputs.end(), Exact{0});
        std::uint64_t wanted = encode(type, expected.number(pattern, type, i));
        for (Exact average :
             {rounded(type, sum / ranks), rounded(type, sum * rounded(type, Exact{1} / ranks))}) {
          INFO(to_string(type) << " ranks " << ranks << " sum " << static_cast<double>(sum));
          REQUIRE(matches(encode(type, static_cast<double>(average)), wanted,
                          expected.tolerance(type)));
        }
      }
    }
}

TEST_CASE("the tolerance is two units for averages of floats that round, and none for all else") {
  auto tolerance = [](DataType type, ReduceOp op, int ranks) {
    return expectation_for(Collective::all_reduce, op, 0, 1, 0, ranks).tolerance(type);
  };

  CHECK(tolerance(DataType::f32, ReduceOp::avg, 3) == 2);
  CHECK(tolerance(DataType::f32, ReduceOp::avg, 4) == 0);
  CHECK(tolerance(DataType::f32, ReduceOp::sum, 3) == 0);
  CHECK(tolerance(DataType::i32, ReduceOp::avg, 3) == 0);
  CHECK(matches(10, 12, 2));
  CHECK(matches(14, 12, 2));
  CHECK_FALSE(matches(15, 12, 2));
  CHECK_FALSE(matches(11, 12, 0));
}

// A collective according to NCCL's documentation: the contents of each rank's output, or nothing.
std::vector<std::vector<Exact>> play(Collective collective, DataType type, ReduceOp op, int root,
                                     std::uint64_t count, int ranks, const Pattern& pattern) {
  auto n = static_cast<std::uint64_t>(ranks);
  auto in = [&](std::uint64_t rank, std::uint64_t i) {
    return decode(type, input(pattern, type, static_cast<int>(rank), i));
  };
  auto reduced_at = [&](std::uint64_t i) {
    auto inputs = inputs_at(pattern, type, ranks, i);
    for (Exact& one : inputs)
      one = before_reduction(type, op, ranks, one);
    return after_reduction(type, op, ranks, reduced_in_random_order(type, op, inputs, i));
  };
  std::vector<std::vector<Exact>> outputs(n);
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
        out.push_back(reduced_at(i));
      break;
    case Collective::reduce_scatter:
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(reduced_at(rank * count + i));
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
      for (DataType type : {DataType::f32, DataType::i32, DataType::u64})
        for (int ranks : {1, 2, 4, 5})
          for (std::uint64_t count : {0, 1, 7}) {
            if (op == ReduceOp::avg && is_float(type) && ranks == 5)
              continue; // rounds
            int root = ranks - 1;
            Pattern pattern = pattern_for(13, collective, type, op, ranks);
            auto outputs = play(collective, type, op, root, count, ranks, pattern);
            for (int rank = 0; rank < ranks; ++rank) {
              Expectation expected =
                  expectation_for(collective, op, root, count, rank, ranks, {2, 100});
              std::vector<Exact> values;
              for (std::uint64_t i = 0; i < expected.count; ++i)
                values.push_back(decode(type, encode(type, expected.number(pattern, type, i))));

              INFO(name << " " << op_name << " rank " << rank << " of " << ranks << " count "
                        << count);
              REQUIRE(values == outputs[static_cast<std::size_t>(rank)]);
            }
          }
}

} // namespace
} // namespace ncclprobe::model
