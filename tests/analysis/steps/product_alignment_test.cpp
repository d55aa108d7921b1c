// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/product_alignment.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::DataType;
using steps::ProductAlignment;

namespace {

// A step of two ranks with such products, m x 768 x 768, before everything else.
std::optional<ProductAlignment> alignment_of(const std::vector<std::uint64_t>& m, DataType type) {
  RunBuilder run(2);
  add_step_cell(*run.trial(), {.label = {.model = "m", .ranks = {0, 1}}, .lengths = {{}, {}}});
  model::Schedule& schedule = run.trials[0].spec.cells[0].schedule;
  for (std::uint64_t one : m)
    schedule.operations.push_back(
        {model::GemmOp{.m = one, .n = 768, .k = 768, .type = type, .layout = model::GemmLayout::tn},
         {}});
  schedule.timed.last = static_cast<int>(schedule.operations.size());
  auto pooled = setting_results(run);
  return steps::product_alignment(run, steps::step_results(run, pooled).at(0));
}

} // namespace

TEST_CASE("products whose columns do not begin at 16 bytes are counted, and named by their edge") {
  auto found = alignment_of({768, 50257, 50257, 767}, DataType::bf16);

  REQUIRE(found);
  CHECK(found->products == 8);
  CHECK(found->unaligned == 6);
  CHECK(steps::in_words(*found) == "matrix products: 6 of 8 of a step have columns not aligned to "
                                   "16 bytes, so tensor cores load them slower: m=50257; m=767");
}

TEST_CASE("that all products are aligned is said as well") {
  auto found = alignment_of({768, 50304}, DataType::bf16);

  REQUIRE(found);
  CHECK(found->unaligned == 0);
  CHECK(steps::in_words(*found) ==
        "matrix products: all 4 of a step have columns aligned to 16 bytes, "
        "the fastest for tensor cores to load");
}

TEST_CASE("products at full f32 precision do not run on tensor cores") {
  CHECK_FALSE(alignment_of({767}, DataType::f32));
}
