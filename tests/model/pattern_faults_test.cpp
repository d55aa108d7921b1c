// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Possible faults of a library, simulated on the oracle's inputs: how many elements of a result
// show them. docs/method.md, "Is the data right?", states the requirements.

#include "model/data_pattern.h"
#include "model/type_arithmetic.h"
#include "support/catch.h"

#include <cmath>
#include <functional>
#include <vector>

namespace ncclprobe::model {
namespace {

// A reduction of so many ranks, the last of which errs.
struct TypeAndOp {
  TypeAndOp(DataType of, ReduceOp reduction, int size)
      : type(of), op(reduction), ranks(size),
        pattern(pattern_for(77, Collective::all_reduce, type, op, ranks)),
        elements(ranks > 8 ? 512 : 256) {}

  DataType type;
  ReduceOp op;
  int ranks;
  Pattern pattern;
  std::uint64_t elements; // that are looked at

  Exact input(const Pattern& of, int rank, std::uint64_t index) const {
    return decode(type, encode(type, of.number(rank, index)));
  }
  std::vector<Exact> inputs(std::uint64_t index) const {
    std::vector<Exact> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(input(pattern, rank, index));
    return all;
  }
  Exact result(std::vector<Exact> inputs) const {
    for (Exact& one : inputs)
      one = before_reduction(type, op, ranks, one);
    return after_reduction(type, op, ranks, reduced_in_random_order(type, op, inputs, 1));
  }
};

std::uint64_t bits_of_result(DataType type, Exact value) {
  return is_float(type) ? encode(type, static_cast<double>(value))
         : is_unsigned(type)
             ? static_cast<std::uint64_t>(value)
             : static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & all_ones(type);
}

// The share of elements that are wrong if the library makes `faulty(index)` of them.
double shown(const TypeAndOp& setting, const std::function<Exact(std::uint64_t)>& faulty) {
  Expectation expected =
      expectation_for(Collective::all_reduce, setting.op, 0, setting.elements, 0, setting.ranks);
  std::uint64_t tolerance = expected.tolerance(setting.type);
  int wrong = 0;
  for (std::uint64_t i = 0; i < setting.elements; ++i) {
    std::uint64_t wanted = encode(setting.type, expected.number(setting.pattern, setting.type, i));
    wrong += matches(bits_of_result(setting.type, faulty(i)), wanted, tolerance) ? 0 : 1;
  }
  return wrong / static_cast<double>(setting.elements);
}

bool is_extreme(ReduceOp op) {
  return op == ReduceOp::max || op == ReduceOp::min;
}

bool is_signed(DataType type) {
  return !is_unsigned(type);
}

// Averages with so few bits over so many ranks are all equal: no fault is visible.
bool is_flat(const TypeAndOp& setting) {
  return setting.op == ReduceOp::avg && !is_float(setting.type) && size_bytes(setting.type) == 1 &&
         setting.ranks > 16;
}

template <typename Check>
void for_each_setting(Check check) {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (int ranks : {2, 3, 8, 64}) {
        TypeAndOp setting(type, op, ranks);
        if (!can_check(type, op, ranks) || is_flat(setting))
          continue;
        INFO(type_name << " " << op_name << " ranks " << ranks);
        check(setting);
      }
}

// The share of elements at which one rank's number matters: all, except where ranks contribute
// neutral numbers; and where two compete, one wins.
double share_of_a_rank(const TypeAndOp& setting) {
  if (is_extreme(setting.op))
    return 1.0 / setting.ranks;
  if (setting.op == ReduceOp::prod) // at least by its sign
    return 0.5;
  return (setting.pattern.followers + 1.0) / setting.ranks;
}

// change(setting, all ranks' inputs, index) replaces one rank's contribution.
template <typename Change>
double shown_by_input(const TypeAndOp& setting, Change change) {
  return shown(setting, [&](std::uint64_t i) {
    auto inputs = setting.inputs(i);
    inputs.back() = change(inputs, i);
    return setting.result(inputs);
  });
}

template <typename Change>
double shown_by_result(const TypeAndOp& setting, Change change) {
  return shown(setting, [&](std::uint64_t i) { return change(setting.result(setting.inputs(i))); });
}

using Inputs = std::vector<Exact>;

TEST_CASE("nothing is wrong without a fault") {
  for_each_setting([](const TypeAndOp& setting) {
    REQUIRE(shown_by_input(setting, [](const Inputs& all, std::uint64_t) { return all.back(); }) ==
            0);
  });
}

TEST_CASE("a rank's shifted, stale, missing or doubled data shows wherever its data counts") {
  for_each_setting([](const TypeAndOp& setting) {
    int rank = setting.ranks - 1;
    double least = 0.3 * share_of_a_rank(setting);
    auto shifted = [&](const Inputs&, std::uint64_t i) {
      return setting.input(setting.pattern, rank, i + 1);
    };
    Pattern before =
        pattern_for(78, Collective::all_reduce, setting.type, setting.op, setting.ranks);
    auto stale = [&](const Inputs&, std::uint64_t i) { return setting.input(before, rank, i); };
    auto of_another = [](const Inputs& all, std::uint64_t) { return all.front(); };
    auto missing = [&](const Inputs& all, std::uint64_t) -> Exact {
      return is_extreme(setting.op) ? all.front() : setting.op == ReduceOp::prod ? 1 : 0;
    };
    auto doubled = [&](const Inputs& all, std::uint64_t) {
      return reduced(setting.type, setting.op, all.back(), all.back());
    };
    CHECK(shown_by_input(setting, shifted) > least);
    CHECK(shown_by_input(setting, stale) > least);
    CHECK(shown_by_input(setting, of_another) > least);
    CHECK(shown_by_input(setting, missing) > least);
    // The same number twice changes no extreme, nor do signs change a product.
    if (!is_extreme(setting.op) && (setting.op != ReduceOp::prod || is_unsigned(setting.type)))
      CHECK(shown_by_input(setting, doubled) > least);
  });
}

TEST_CASE("in wide types nearly every element of a sum shows what one rank does wrong") {
  for (DataType type :
       {DataType::f32, DataType::f64, DataType::i32, DataType::u32, DataType::i64, DataType::u64})
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::premul_sum})
      for (int ranks : {2, 3, 8, 64}) {
        TypeAndOp setting(type, op, ranks);
        INFO(to_string(type) << " " << to_string(op) << " ranks " << ranks);
        CHECK(shown_by_input(setting, [&](const Inputs&, std::uint64_t i) {
                return setting.input(setting.pattern, ranks - 1, i + 1);
              }) > 0.99);
        CHECK(shown_by_input(setting, [](const Inputs&, std::uint64_t) { return Exact{0}; }) == 1);
      }
}

TEST_CASE("a lost sign shows, of one rank's input and of the result") {
  for_each_setting([](const TypeAndOp& setting) {
    bool has_signs = is_signed(setting.type) && setting.pattern.lead.sign != 0;
    double of_input = shown_by_input(
        setting, [](const Inputs& all, std::uint64_t) { return std::fabs(all.back()); });
    double of_result = shown_by_result(setting, [](Exact result) { return std::fabs(result); });
    if (!has_signs)
      return;
    CHECK(of_input > 0.25 * share_of_a_rank(setting));
    CHECK(of_result > (is_extreme(setting.op) ? 0.15 : 0.3));
  });
}

TEST_CASE("a lost upper half shows in integers of every width") {
  for_each_setting([](const TypeAndOp& setting) {
    if (is_float(setting.type))
      return;
    auto lower_half = [&](Exact result) {
      return decode(setting.type, bits_of_result(setting.type, result) &
                                      all_ones(setting.type) >> (4 * size_bytes(setting.type)));
    };
    double least = size_bytes(setting.type) > 1 ? 0.99 : setting.op == ReduceOp::avg ? 0.3 : 0.85;
    CHECK(shown_by_result(setting, lower_half) > least);
  });
}

TEST_CASE("a reduction in a narrower floating-point type shows") {
  struct Narrowing {
    DataType type, narrow;
    double least; // share of the results that are wrong
  };
  for (Narrowing one : {Narrowing{DataType::f64, DataType::f32, 0.99},
                        {DataType::f32, DataType::f16, 0.99},
                        {DataType::f32, DataType::bf16, 0.99},
                        {DataType::f16, DataType::bf16, 0.2},
                        {DataType::bf16, DataType::f16, 0.99},
                        {DataType::f8e5m2, DataType::f8e4m3, 0.99},
                        {DataType::f8e4m3, DataType::f8e5m2, 0.03}})
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::prod})
      for (int ranks : {2, 3, 8, 64}) {
        INFO(to_string(one.type) << " in " << to_string(one.narrow) << ": " << to_string(op)
                                 << " ranks " << ranks);
        // A sum that happens to be 0 loses nothing.
        double zero =
            shown_by_result(TypeAndOp(one.type, op, ranks), [](Exact) { return Exact{0}; });
        Exact largest = one.narrow == DataType::f16      ? 65504
                        : one.narrow == DataType::f8e4m3 ? 448
                                                         : 0x1p100L;
        CHECK(shown_by_result(TypeAndOp(one.type, op, ranks), [&](Exact result) {
                Exact narrow = rounded(one.narrow, result);
                return std::fabs(narrow) > largest ? std::copysign(largest, narrow) : narrow;
              }) > one.least * zero * 0.99);
      }
}

} // namespace
} // namespace ncclprobe::model
