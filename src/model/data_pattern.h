// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/collective.h"
#include "model/element.h"
#include "model/reduce_op.h"
#include "model/signs.h"

#include <cstdint>

// The oracle of the data check: each rank's input and the expected result, computed from indexes
// alone and never by the library under test. Everything is constexpr, so CUDA kernels and the CPU
// use the same code (nvcc --expt-relaxed-constexpr). It is C++17, the newest that CUDA 11's nvcc
// reads.
//
// Inputs are integers (for some types times a power of two) of both signs. They fill the range in
// which every partial result is exact in the type, in any order of operations. So results are
// compared bit for bit. A library that drops signs or upper halves, or computes in a narrower type,
// gets them wrong. At each element one rank leads: it uses most of the range, and the others share
// the rest. The lead changes from element to element. If a narrow type has no room for all ranks,
// only some follow the lead, and the others contribute neutral values.
//
// Only one case rounds: a floating-point average over a number of ranks that is no power of two.
// There only the lead contributes, and 2 ulp are allowed (1/n is rounded, then the product).
namespace ncclprobe::model {

// How 64 random bits become a number.
struct Draw {
  std::uint64_t base = 0; // the smallest magnitude
  std::uint64_t keep = 0; // mask of the random bits that are added to it
  std::uint64_t sign = 0; // all ones: negative if the highest random bit is set
  int scale = 0;          // as Number's
  bool may_be_poison = false;

  constexpr std::int64_t units(std::uint64_t random) const {
    std::uint64_t negative = (0 - (random >> 63)) & sign;
    return static_cast<std::int64_t>(((base + (random & keep)) ^ negative) - negative);
  }
};

// One round of mixing: maps each x to another number that looks random.
constexpr std::uint64_t scrambled(std::uint64_t x, std::uint64_t odd) {
  x *= odd;
  return x ^ (x >> 32);
}

struct Pattern {
  std::uint64_t seed = 0;
  int ranks = 1;     // that lead in turn; 1: every rank's numbers are a lead's
  int followers = 0; // ranks after the lead that draw from `follower`
  Draw lead;
  Draw follower;
  Draw rest; // constant: neutral to the operation, or +-1 in a product

  // Random bits that all ranks share at an element, and how each rank derives its own.
  static constexpr std::uint64_t shared_bits(std::uint64_t seed, std::uint64_t index) {
    return scrambled(seed + index, 0xBF58476D1CE4E5B9);
  }
  static constexpr std::uint64_t rank_key(int rank) {
    return (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15;
  }
  static constexpr std::uint64_t random_bits(std::uint64_t shared, std::uint64_t key) {
    return scrambled(shared ^ key, 0xD6E8FEB86659FD93);
  }

  constexpr int leader(std::uint64_t shared) const {
    return static_cast<int>((shared & 0xFFFFFFFF) * static_cast<std::uint64_t>(ranks) >> 32);
  }
  // `place`: the rank's distance after the lead.
  constexpr Draw draw_of(int place) const {
    return place == 0 ? lead : place <= followers ? follower : rest;
  }

  // The number that `rank` contributes at `index`.
  constexpr Number number(int rank, std::uint64_t index) const {
    std::uint64_t shared = shared_bits(seed, index);
    int place = ranks == 1 ? 0 : rank - leader(shared);
    Draw draw = draw_of(place < 0 ? place + ranks : place);
    return {draw.units(random_bits(shared, rank_key(rank))), draw.scale, draw.may_be_poison};
  }
};

// Averages that cannot be checked: NCCL multiplies by 1/n in the type. Beyond 64 ranks 1/n is below
// the normal numbers of f8e4m3 (2^-6), and soon even zero.
constexpr bool can_check(DataType type, ReduceOp op, int ranks) {
  return type != DataType::f8e4m3 || op != ReduceOp::avg || ranks <= 64;
}

constexpr int floor_log2(std::uint64_t value) {
  int bits = 0;
  while ((value >>= 1) != 0)
    ++bits;
  return bits;
}

constexpr bool is_power_of_two(int value) {
  return (value & (value - 1)) == 0;
}

// Makes the patterns of one type.
class PatternMaker {
public:
  constexpr PatternMaker(DataType type, int ranks, Signs signs)
      : type_(type), ranks_(ranks), has_sign_(signs == Signs::both && !is_unsigned(type)),
        bits_(exact_bits(type)) {}

  // For a copy: any number of the type. Integers exclude the poison, as results do.
  constexpr Draw whole() const {
    Draw draw = magnitudes(is_float(type_) ? 1 : 0, bits_);
    draw.may_be_poison = !is_float(type_);
    return draw;
  }

  // Two ranks compete; the others contribute the smallest possible value, or the largest.
  constexpr Pattern extremes(ReduceOp op) const {
    Pattern pattern;
    pattern.followers = ranks_ > 1 ? 1 : 0;
    pattern.lead = pattern.follower = whole();
    std::uint64_t most = is_float(type_)      ? std::uint64_t{1} << bits_
                         : is_unsigned(type_) ? all_ones(type_) - 1
                                              : all_ones(type_) >> 1;
    std::uint64_t least = is_unsigned(type_) ? 0 : 0 - most;
    pattern.rest = constant(op == ReduceOp::min ? most : least);
    return pattern;
  }

  // Unsigned integers wrap around: all ranks have odd factors, 1 more than a multiple of 4, which
  // the poison is not. Otherwise the lead and one follower have half of the bits each, and all
  // ranks a sign.
  constexpr Pattern product() const {
    Pattern pattern;
    if (is_unsigned(type_)) {
      pattern.followers = ranks_ - 1;
      pattern.lead = magnitudes(1, bits_);
      pattern.lead.keep &= ~std::uint64_t{3};
      pattern.follower = pattern.lead;
      return pattern;
    }
    pattern.followers = ranks_ > 1 ? 1 : 0;
    int own = ranks_ > 1 ? (bits_ + 1) / 2 : bits_;
    pattern.lead = is_float(type_) ? magnitudes(1, own) : at_least_half(own);
    pattern.follower = magnitudes(1, bits_ - own);
    pattern.rest = magnitudes(1, 0);
    pattern.follower.scale = pattern.rest.scale = 0;
    return pattern;
  }

  // For numbers that are multiplied by `factor`, a power of two, before they are added.
  constexpr Pattern sum(int factor) const {
    Pattern pattern;
    std::uint64_t room = 0; // for the sum of the others' numbers
    if (is_float(type_)) {
      pattern.lead = magnitudes(1, ranks_ > 1 ? bits_ - 1 : bits_);
      room = std::uint64_t{1} << (bits_ - 1);
    } else {
      // So much larger than the sum of the others that no sum is -1, the poison.
      int bits = bits_ - floor_log2(static_cast<std::uint64_t>(factor));
      pattern.lead = magnitudes(std::uint64_t{1} << (bits - 1), bits - 2);
      room = (std::uint64_t{1} << (bits - 2)) - 1;
    }
    // With a sign, each follower's number carries information. Without one, it needs a bit.
    std::uint64_t most = has_sign_ ? room : room / 2;
    auto others = static_cast<std::uint64_t>(ranks_ - 1);
    pattern.followers = static_cast<int>(others < most ? others : most);
    if (pattern.followers > 0)
      pattern.follower =
          magnitudes(1, floor_log2(room / static_cast<std::uint64_t>(pattern.followers)));
    return pattern;
  }

  constexpr Pattern average() const {
    if (is_float(type_) && !is_power_of_two(ranks_)) {
      Pattern pattern;
      pattern.lead = magnitudes(1, bits_);
      return pattern;
    }
    // The quotient of a negative sum must not be -1 either.
    std::uint64_t least_sum = (std::uint64_t{1} << (bits_ - 2)) + 1;
    bool may_be_negative = is_float(type_) || least_sum / static_cast<std::uint64_t>(ranks_) >= 2;
    return PatternMaker(type_, ranks_, has_sign_ && may_be_negative ? Signs::both : Signs::none)
        .sum(1);
  }

private:
  // From base to base + 2^bits - 1.
  constexpr Draw magnitudes(std::uint64_t base, int bits) const {
    Draw draw;
    draw.base = base;
    draw.sign = has_sign_ ? ~std::uint64_t{0} : 0;
    draw.scale = scale();
    draw.keep = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
    return draw;
  }
  // Has this many bits, the highest of which is set.
  constexpr Draw at_least_half(int bits) const {
    return magnitudes(std::uint64_t{1} << (bits - 1), bits - 1);
  }
  constexpr Draw constant(std::uint64_t units) const {
    Draw draw;
    draw.base = units;
    draw.scale = scale();
    return draw;
  }
  // bf16 and f8e5m2 have no digit that f16 and f8e4m3 lack, but larger exponents. Their numbers are
  // therefore larger than the largest of those types, 65504 and 448.
  constexpr int scale() const {
    return type_ == DataType::bf16 ? 16 : type_ == DataType::f8e5m2 ? 9 : 0;
  }

  DataType type_;
  int ranks_;
  bool has_sign_;
  int bits_;
};

constexpr Pattern pattern_for(std::uint64_t seed, Collective collective, DataType type, ReduceOp op,
                              int ranks, Signs signs = Signs::both) {
  PatternMaker maker(type, ranks, signs);
  Pattern pattern;
  if (!reduces(collective))
    pattern.lead = maker.whole();
  else if (op == ReduceOp::max || op == ReduceOp::min)
    pattern = maker.extremes(op);
  else if (op == ReduceOp::prod)
    pattern = maker.product();
  else if (op == ReduceOp::avg)
    pattern = maker.average();
  else
    pattern = maker.sum(op == ReduceOp::premul_sum ? k_premul_scalar : 1);
  pattern.ranks = reduces(collective) ? ranks : 1;
  // Otherwise the next seed would give the same numbers, shifted by one.
  pattern.seed = scrambled(seed, 0x94D049BB133111EB);
  return pattern;
}

// The expected elements [0, count) of a checked slice. Either a reduction over all ranks at
// first_index + i, or a copy: block number i / block comes from rank first_rank + that number.
struct Expectation {
  bool reduction = false;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
  int first_rank = 0;
  std::uint64_t first_index = 0;
  std::uint64_t block = 1;
  std::uint64_t count = 0; // 0: nothing to check on this rank

  // Exact in the type, except for the average described above.
  constexpr Number number(const Pattern& pattern, DataType type, std::uint64_t i) const {
    if (!reduction)
      return pattern.number(first_rank + static_cast<int>(i / block), first_index + i % block);
    std::uint64_t shared = Pattern::shared_bits(pattern.seed, first_index + i);
    int rank = pattern.leader(shared);
    std::int64_t result = pattern.lead.units(Pattern::random_bits(shared, Pattern::rank_key(rank)));
    for (int place = 1; place < contributors(pattern); ++place) {
      rank = rank + 1 == ranks ? 0 : rank + 1;
      std::uint64_t random = Pattern::random_bits(shared, Pattern::rank_key(rank));
      result = combine(op, type, result, pattern.draw_of(place).units(random));
    }
    return finish(type, {result, pattern.lead.scale, pattern.lead.may_be_poison});
  }

  // How many ranks, from the lead on, affect a result.
  constexpr int contributors(const Pattern& pattern) const {
    return pattern.rest.sign != 0 ? ranks : pattern.followers + 1;
  }
  // The operation's result for two ranks' numbers.
  static constexpr std::int64_t combine(ReduceOp op, DataType type, std::int64_t a,
                                        std::int64_t b) {
    auto x = static_cast<std::uint64_t>(a);
    auto y = static_cast<std::uint64_t>(b);
    bool less = is_unsigned(type) ? x < y : a < b;
    switch (op) {
    case ReduceOp::max:
      return less ? b : a;
    case ReduceOp::min:
      return less ? a : b;
    case ReduceOp::prod:
      return static_cast<std::int64_t>(x * y);
    default:
      return static_cast<std::int64_t>(x + y);
    }
  }
  // Its result for all ranks' numbers. Integers are divided towards zero.
  constexpr Number finish(DataType type, Number all) const {
    if (op == ReduceOp::premul_sum)
      all.units = combine(ReduceOp::prod, type, all.units, k_premul_scalar);
    if (op != ReduceOp::avg)
      return all;
    if (is_float(type))
      all.divisor = ranks;
    else if (is_unsigned(type))
      all.units = static_cast<std::int64_t>(static_cast<std::uint64_t>(all.units) /
                                            static_cast<std::uint64_t>(ranks));
    else
      all.units /= ranks;
    return all;
  }

  // Allowed error of a result, in units in the last place.
  constexpr std::uint64_t tolerance(DataType type) const {
    bool rounds = reduction && op == ReduceOp::avg && is_float(type) && !is_power_of_two(ranks);
    return rounds ? 2 : 0;
  }
};

// Whether a stored element (its bits, zero-extended) has the expected value.
constexpr bool matches(std::uint64_t bits, std::uint64_t wanted, std::uint64_t tolerance) {
  return (bits > wanted ? bits - wanted : wanted - bits) <= tolerance;
}

// A block of an all_to_all_v: from the rank `distance` before the receiver, from element
// first_index of its input on.
struct BlockSource {
  int distance = 0;
  std::uint64_t first_index = 0;
};

// For rank `rank` of a communicator of `ranks`, after a collective of `count` elements (counted as
// in NCCL's call of that name; for an all_to_all_v, those of the block). send_recv is the ring:
// data comes from the previous rank.
constexpr Expectation expectation_for(Collective collective, ReduceOp op, int root,
                                      std::uint64_t count, int rank, int ranks,
                                      BlockSource source = {}) {
  auto block = count == 0 ? 1 : count;
  auto r = static_cast<std::uint64_t>(rank);
  auto n = static_cast<std::uint64_t>(ranks);
  switch (collective) {
  case Collective::all_reduce:
    return {true, op, ranks, 0, 0, block, count};
  case Collective::reduce:
    return {true, op, ranks, 0, 0, block, rank == root ? count : 0};
  case Collective::reduce_scatter:
    return {true, op, ranks, 0, r * count, block, count};
  case Collective::broadcast:
    return {false, op, ranks, root, 0, block, count};
  case Collective::all_gather:
  case Collective::hypercube:
    return {false, op, ranks, 0, 0, block, n * count};
  case Collective::gather:
    return {false, op, ranks, 0, 0, block, rank == root ? n * count : 0};
  case Collective::scatter:
    return {false, op, ranks, root, r * count, block, count};
  case Collective::all_to_all:
    return {false, op, ranks, 0, r * count, block, n * count};
  case Collective::send_recv:
    return {false, op, ranks, (rank + ranks - 1) % ranks, 0, block, count};
  case Collective::all_to_all_v:
    return {
        false, op,   ranks, (rank + ranks - source.distance % ranks) % ranks, source.first_index,
        block, count};
  }
  return {};
}

} // namespace ncclprobe::model
