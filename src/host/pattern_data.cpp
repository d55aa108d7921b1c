// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/pattern_data.h"

#include "host/with_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace ncclprobe::host {

using backend::Mismatch;
using model::DataType;
using model::Expectation;
using model::Pattern;
using model::ReduceOp;

namespace {

// Pattern::value without sparsity and base, and with the remainder by multiplication: the quotient
// estimated from the reciprocal is right or one too small, since the dividend has 56 bits.
class DensePattern {
public:
  explicit DensePattern(const Pattern& pattern)
      : seed_(pattern.seed), modulus_(pattern.modulus),
        reciprocal_(~std::uint64_t{0} / pattern.modulus) {}

  // What all indexes of one rank share.
  std::uint64_t start(int rank) const {
    return seed_ + (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15;
  }
  std::uint32_t value(std::uint64_t start, std::uint64_t index) const {
    std::uint64_t x = start + index;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) >> 8;
    auto quotient =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(x) * reciprocal_) >> 64);
    std::uint64_t rest = x - quotient * modulus_;
    return static_cast<std::uint32_t>(rest >= modulus_ ? rest - modulus_ : rest);
  }

private:
  std::uint64_t seed_;
  std::uint64_t modulus_;
  std::uint64_t reciprocal_;
};

template <DataType type>
using Word = std::conditional_t<
    size_bytes(type) == 1, std::uint8_t,
    std::conditional_t<size_bytes(type) == 2, std::uint16_t,
                       std::conditional_t<size_bytes(type) == 4, std::uint32_t, std::uint64_t>>>;

template <DataType type>
Word<type> word_of(double value) {
  return static_cast<Word<type>>(model::encode(type, value));
}

template <DataType type>
void fill_as(std::byte* data, const Pattern& pattern, int rank, std::uint64_t count) {
  DensePattern dense(pattern);
  std::uint64_t start = dense.start(rank);
  std::uint64_t stride = std::max(1U, pattern.sparsity);
  std::uint64_t first = (stride - static_cast<std::uint64_t>(rank) % stride) % stride;
  if (stride > 1) {
    Word<type> rest = word_of<type>(pattern.rest);
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(data + i * sizeof rest, &rest, sizeof rest);
  }
  for (std::uint64_t i = first; i < count; i += stride) {
    Word<type> word = word_of<type>(pattern.base + dense.value(start, i));
    std::memcpy(data + i * sizeof word, &word, sizeof word);
  }
}

template <DataType type>
class Comparison {
public:
  Comparison(const std::byte* data, ReduceOp op) : data_(data), op_(op) {}

  void look_at(std::uint64_t i, double expected) {
    Word<type> word;
    std::memcpy(&word, data_ + i * sizeof word, sizeof word);
    if (word == word_of<type>(expected)) [[likely]]
      return;
    if (model::matches(type, op_, word, expected))
      return;
    if (found_.wrong++ > 0)
      return;
    found_.first = i;
    found_.first_bits = word;
  }
  Mismatch result(std::uint64_t elements) {
    found_.elements = elements;
    return found_;
  }

private:
  const std::byte* data_;
  ReduceOp op_;
  Mismatch found_;
};

template <DataType type>
void compare_copy(Comparison<type>& comparison, const Pattern& pattern,
                  const Expectation& expected) {
  DensePattern dense(pattern);
  int rank = expected.first_rank;
  for (std::uint64_t begin = 0; begin < expected.count; begin += expected.block, ++rank) {
    std::uint64_t start = dense.start(rank);
    std::uint64_t end = std::min(begin + expected.block, expected.count);
    for (std::uint64_t i = begin; i < end; ++i)
      comparison.look_at(i, pattern.base + dense.value(start, expected.first_index + (i - begin)));
  }
}

// What does not change the result of an operation, whatever it is combined with.
std::uint64_t neutral(ReduceOp op) {
  return op == ReduceOp::min ? ~std::uint64_t{0} : op == ReduceOp::prod ? 1 : 0;
}

// Combines what all ranks contribute to `count` elements from `index` on. One rank after the other,
// so that the inner loop holds nothing but the hash.
constexpr std::uint64_t k_chunk = 1024;

template <ReduceOp op>
void combine_ranks(const DensePattern& dense, const Pattern& pattern, int ranks,
                   std::uint64_t index, std::uint64_t count, std::uint64_t* totals) {
  std::uint64_t stride = std::max(1U, pattern.sparsity);
  std::fill(totals, totals + count, neutral(op));
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t start = dense.start(rank) + index;
    std::uint64_t first = index + static_cast<std::uint64_t>(rank); // others put in what is neutral
    first = (stride - first % stride) % stride;
    for (std::uint64_t i = first; i < count; i += stride)
      totals[i] = Expectation::combine(op, totals[i], pattern.base + dense.value(start, i));
  }
}

auto combination(ReduceOp op) {
  switch (op) {
  case ReduceOp::max:
    return combine_ranks<ReduceOp::max>;
  case ReduceOp::min:
    return combine_ranks<ReduceOp::min>;
  case ReduceOp::prod:
    return combine_ranks<ReduceOp::prod>;
  default:
    return combine_ranks<ReduceOp::sum>;
  }
}

template <DataType type>
void compare_reduction(Comparison<type>& comparison, const Pattern& pattern,
                       const Expectation& expected) {
  DensePattern dense(pattern);
  auto combine = combination(expected.op);
  std::array<std::uint64_t, k_chunk> totals;
  for (std::uint64_t begin = 0; begin < expected.count; begin += k_chunk) {
    std::uint64_t count = std::min(k_chunk, expected.count - begin);
    combine(dense, pattern, expected.ranks, expected.first_index + begin, count, totals.data());
    for (std::uint64_t i = 0; i < count; ++i)
      comparison.look_at(begin + i,
                         Expectation::finish(expected.op, type, expected.ranks, totals[i]));
  }
}

// True if the ranks that do not contribute to an element change nothing of it, as in all patterns
// of pattern_for(): then they can be passed over.
bool rest_is_neutral(const Pattern& pattern, const Expectation& expected) {
  if (pattern.sparsity <= 1)
    return true;
  if (!expected.reduction || pattern.sparsity > static_cast<std::uint32_t>(expected.ranks))
    return false;
  switch (expected.op) {
  case ReduceOp::max:
    return pattern.rest <= pattern.base;
  case ReduceOp::min:
    return pattern.rest + 1 >= pattern.base + pattern.modulus;
  default:
    return pattern.rest == neutral(expected.op);
  }
}

template <DataType type>
Mismatch compare_as(const std::byte* data, const Pattern& pattern, const Expectation& expected) {
  Comparison<type> comparison(data, expected.op);
  if (!rest_is_neutral(pattern, expected)) {
    for (std::uint64_t i = 0; i < expected.count; ++i)
      comparison.look_at(i, expected.value(pattern, type, i));
  } else if (expected.reduction) {
    compare_reduction(comparison, pattern, expected);
  } else {
    compare_copy(comparison, pattern, expected);
  }
  return comparison.result(expected.count);
}

} // namespace

void fill_pattern(void* data, DataType type, const Pattern& pattern, int rank,
                  std::uint64_t count) {
  auto* bytes = static_cast<std::byte*>(data);
  with_type(type, [&]<DataType t>() { fill_as<t>(bytes, pattern, rank, count); });
}

Mismatch compare_pattern(const void* data, DataType type, const Pattern& pattern,
                         const Expectation& expected) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return with_type(type, [&]<DataType t>() { return compare_as<t>(bytes, pattern, expected); });
}

} // namespace ncclprobe::host
