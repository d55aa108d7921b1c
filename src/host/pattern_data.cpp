// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/pattern_data.h"

#include "host/with_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

namespace ncclprobe::host {

using backend::Mismatch;
using model::DataType;
using model::Draw;
using model::Expectation;
using model::Number;
using model::Pattern;
using model::ReduceOp;

namespace {

template <DataType type>
using Word = std::conditional_t<
    size_bytes(type) == 1, std::uint8_t,
    std::conditional_t<size_bytes(type) == 2, std::uint16_t,
                       std::conditional_t<size_bytes(type) == 4, std::uint32_t, std::uint64_t>>>;

template <DataType type>
Word<type> word_of(const Number& number) {
  return static_cast<Word<type>>(model::encode(type, number));
}

// Elements are processed in pieces of this many numbers, whose arrays stay in the cache.
constexpr std::uint64_t k_chunk = 1024;

// Data that all ranks share at a chunk of elements, and which rank leads there.
struct Chunk {
  std::array<std::uint64_t, k_chunk> shared;
  std::array<int, k_chunk> leader;

  void look_at(const Pattern& pattern, std::uint64_t index, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      shared[i] = Pattern::shared_bits(pattern.seed, index + i);
    for (std::uint64_t i = 0; i < count; ++i)
      leader[i] = pattern.leader(shared[i]);
  }
};

// Calls act(first, count) for one chunk after the other.
template <typename Act>
void in_chunks(std::uint64_t count, Act act) {
  for (std::uint64_t first = 0; first < count; first += k_chunk)
    act(first, std::min(k_chunk, count - first));
}

// Calls act(i, number) with the numbers of a rank at first_index + i, i < count. The draw varies
// from element to element; a table avoids branches that the CPU could not predict.
template <typename Choose, typename Act>
void each_chosen(const Pattern& pattern, int rank, std::uint64_t first_index, std::uint64_t count,
                 Choose choose, Act act) {
  const std::array<Draw, 3> draws{pattern.lead, pattern.follower, pattern.rest};
  const std::uint64_t seed = pattern.seed;
  const std::uint64_t key = Pattern::rank_key(rank);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t shared = Pattern::shared_bits(seed, first_index + i);
    const Draw& draw = draws[choose(shared)];
    act(i, Number{draw.units(Pattern::random_bits(shared, key)), draw.scale, draw.may_be_poison});
  }
}

template <typename Act>
void each_number(const Pattern& given, int rank, std::uint64_t first_index, std::uint64_t count,
                 Act act) {
  const Pattern pattern =
      given; // local copies: otherwise reloaded after each element that is written
  if (pattern.ranks == 1)
    return each_chosen(
        pattern, rank, first_index, count, [](std::uint64_t) { return 0; }, act);
  if (pattern.followers == pattern.ranks - 1)
    return each_chosen(
        pattern, rank, first_index, count,
        [&](std::uint64_t shared) { return pattern.leader(shared) == rank ? 0 : 1; }, act);
  each_chosen(
      pattern, rank, first_index, count,
      [&](std::uint64_t shared) {
        int place = rank - pattern.leader(shared);
        place += place < 0 ? pattern.ranks : 0;
        return (place > 0) + (place > pattern.followers);
      },
      act);
}

template <DataType type>
void fill_as(std::byte* data, const Pattern& pattern, int rank, std::uint64_t count) {
  each_number(pattern, rank, 0, count, [data](std::uint64_t i, const Number& number) {
    Word<type> word = word_of<type>(number);
    std::memcpy(data + i * sizeof word, &word, sizeof word);
  });
}

template <DataType type>
class Comparison {
public:
  Comparison(const std::byte* data, std::uint64_t tolerance) : data_(data), tolerance_(tolerance) {}

  void look_at(std::uint64_t i, const Number& expected) {
    Word<type> word;
    std::memcpy(&word, data_ + i * sizeof word, sizeof word);
    Word<type> wanted = word_of<type>(expected);
    if (word == wanted) [[likely]]
      return;
    if (model::matches(word, wanted, tolerance_) || found_.wrong++ > 0)
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
  std::uint64_t tolerance_;
  Mismatch found_;
};

template <DataType type>
void compare_copy(Comparison<type>& comparison, const Pattern& pattern,
                  const Expectation& expected) {
  int rank = expected.first_rank;
  for (std::uint64_t begin = 0; begin < expected.count; begin += expected.block, ++rank)
    each_number(
        pattern, rank, expected.first_index, std::min(expected.block, expected.count - begin),
        [&](std::uint64_t i, const Number& number) { comparison.look_at(begin + i, number); });
}

// Reduces all ranks' numbers of a chunk, one position relative to the lead after the other, so
// the inner loop has one kind of draw. `key` holds the ranks' bits twice, one copy after the other,
// so no index wraps around.
template <ReduceOp op, DataType type>
void combine_places(const Chunk& chunk, const Pattern& pattern, int contributors,
                    const std::vector<std::uint64_t>& key, std::uint64_t count,
                    std::int64_t* totals) {
  for (int place = 0; place < contributors; ++place) {
    const Draw draw = pattern.draw_of(place);
    const std::uint64_t* key_here = key.data() + place;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::int64_t units =
          draw.units(Pattern::random_bits(chunk.shared[i], key_here[chunk.leader[i]]));
      totals[i] = place == 0 ? units : Expectation::combine(op, type, totals[i], units);
    }
  }
}

template <DataType type>
auto combination(ReduceOp op) {
  // Only the type's signedness matters.
  constexpr DataType kind = is_unsigned(type) ? DataType::u64 : DataType::i64;
  switch (op) {
  case ReduceOp::max:
    return combine_places<ReduceOp::max, kind>;
  case ReduceOp::min:
    return combine_places<ReduceOp::min, kind>;
  case ReduceOp::prod:
    return combine_places<ReduceOp::prod, kind>;
  default:
    return combine_places<ReduceOp::sum, kind>;
  }
}

template <DataType type>
void compare_reduction(Comparison<type>& comparison, const Pattern& pattern,
                       const Expectation& expected) {
  auto combine = combination<type>(expected.op);
  auto ranks = static_cast<std::size_t>(expected.ranks);
  std::vector<std::uint64_t> key(2 * ranks);
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = Pattern::rank_key(static_cast<int>(i % ranks));
  Chunk chunk;
  std::array<std::int64_t, k_chunk> totals;
  in_chunks(expected.count, [&](std::uint64_t first, std::uint64_t size) {
    chunk.look_at(pattern, expected.first_index + first, size);
    combine(chunk, pattern, expected.contributors(pattern), key, size, totals.data());
    for (std::uint64_t i = 0; i < size; ++i)
      comparison.look_at(first + i, expected.finish(type, {totals[i], pattern.lead.scale,
                                                           pattern.lead.may_be_poison}));
  });
}

template <DataType type>
Mismatch compare_as(const std::byte* data, const Pattern& pattern, const Expectation& expected) {
  Comparison<type> comparison(data, expected.tolerance(type));
  if (expected.reduction)
    compare_reduction(comparison, pattern, expected);
  else
    compare_copy(comparison, pattern, expected);
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

Mismatch compare_poison(const std::byte* data, std::uint64_t bytes) {
  constexpr std::byte poison{model::k_poison_byte};
  auto wrong = static_cast<std::uint64_t>(
      std::count_if(data, data + bytes, [](std::byte one) { return one != poison; }));
  Mismatch found{bytes, wrong};
  if (wrong == 0)
    return found;
  const std::byte* first =
      std::find_if(data, data + bytes, [](std::byte one) { return one != poison; });
  found.first = static_cast<std::uint64_t>(first - data);
  found.first_bits = std::to_integer<std::uint64_t>(*first);
  return found;
}

} // namespace ncclprobe::host
