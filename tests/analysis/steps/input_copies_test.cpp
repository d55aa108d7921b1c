// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/input_copy_section.h"
#include "analysis/steps/input_copies.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::steps;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::StepParts;

namespace {

const model::InputCopy k_pinned{1024, model::Memory::pinned_host};
const model::InputCopy k_pageable{1024, model::Memory::pageable_host};

StepCellArguments cell(StepParts parts, const model::InputCopy& copy, const StepLengths& lengths) {
  return {.label = {.options = {.input_copy = copy}, .model = "m", .ranks = {0, 1}, .parts = parts},
          .lengths = {lengths, lengths}};
}

void add_parts(model::TrialRecord& input_trial, const model::InputCopy& copy,
               const StepLengths& lengths, std::int64_t beside_communication, std::int64_t alone) {
  StepLengths of = lengths;
  add_step_cell(input_trial, cell(StepParts::all, copy, of));
  of.copy = beside_communication;
  add_step_cell(input_trial, cell(StepParts::compute, copy, of));
  add_step_cell(input_trial, cell(StepParts::communication, copy, of));
  of.copy = alone;
  if (copy.bytes > 0)
    add_step_cell(input_trial, cell(StepParts::copy, copy, of));
}

// Without a copy the step takes 410 ns. The copy slows buckets down by a quarter and computing by a
// tenth. It outlasts the step by 5 ns from pinned memory and by 64 ns from pageable.
void add_input_trial(RunBuilder& run) {
  model::TrialRecord& input_trial = *run.trial();
  const std::int64_t scatter = input_trial.spec.id % 3; // adds some noise
  add_parts(input_trial, {}, {100, 100, 100, 80, 60, 50, scatter}, 0, 0);
  StepLengths slowed{110, 110, 110, 100, 75, 55, scatter, 465};
  add_parts(input_trial, k_pinned, slowed, 400, 200);
  slowed.copy = 524;
  add_parts(input_trial, k_pageable, slowed, 450, 250);
}

RunBuilder input_run(int count) {
  RunBuilder run(2);
  for (int id = 0; id < count; ++id)
    add_input_trial(run);
  return run;
}

// Comparisons point into results, and these into the run.
struct Compared {
  explicit Compared(RunBuilder of_run)
      : run(std::move(of_run)), pooled(setting_results(run)), results(step_results(run, pooled)),
        found(copy_comparisons(results)) {}
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  RunBuilder run;
  std::vector<SettingResult> pooled;
  std::vector<StepResult> results;
  CopyComparisons found;
};

const CopyEffect& effect(const CopyComparison& comparison, Slowed what) {
  auto found = std::find_if(comparison.effects.begin(), comparison.effects.end(),
                            [&](const CopyEffect& one) { return one.what == what; });
  REQUIRE(found != comparison.effects.end());
  return *found;
}

} // namespace

TEST_CASE("What an input copy costs is told against the step without one, and adds up") {
  const Compared compared(input_run(6));
  const CopyComparisons& found = compared.found;

  REQUIRE(found.all.size() == 3);
  const CopyComparison& pinned = found.all[0];
  CHECK(pinned.after->step.options.input_copy == k_pinned);
  CHECK_FALSE(pinned.before->step.copies_input());
  CHECK(effect(pinned, Slowed::communication).ratio == Approx(175.0 / 140));
  CHECK(effect(pinned, Slowed::computing).ratio == Approx(1.1));
  CHECK(effect(pinned, Slowed::copy).ratio == Approx(2));
  CHECK(effect(pinned, Slowed::copy_in_step).ratio == Approx(465.0 / 200));
  CHECK(effect(pinned, Slowed::step).ratio == Approx(466.0 / 411).epsilon(1e-3));
  for (const CopyEffect& one : pinned.effects) {
    CHECK(one.verdict == Verdict::worse);
    CHECK(one.detectable.value() >= *found.floor);
    CHECK(one.detectable.value() < one.ratio);
  }
  CHECK(found.tested == 5 + 5 + 3);
  REQUIRE(pinned.account.has_value());
  const double step_ns = 466;
  CHECK(pinned.account->of(Loss::exposed_copy) == Approx(5 / step_ns).epsilon(0.01));
  CHECK(pinned.account->of(Loss::exposed_transfer) == Approx(15 / step_ns).epsilon(0.01));
  CHECK(pinned.account->of(Loss::slowed_compute) == Approx(35 / step_ns).epsilon(0.01));
  CHECK(pinned.account->of(Loss::other) == 0);
  CHECK(pinned.account->sum() == Approx(1 - 1 / effect(pinned, Slowed::step).ratio).epsilon(1e-12));
  CHECK(*pinned.alone_gb_per_s == Approx(1024.0 / 200));
  CHECK(*pinned.in_step_gb_per_s == Approx(1024.0 / 465));
}

TEST_CASE("Pageable memory is set against pinned, side by side") {
  const Compared compared(input_run(6));
  const CopyComparisons& found = compared.found;

  const CopyComparison& sides = found.all[2];
  CHECK(sides.after->step.options.input_copy == k_pageable);
  CHECK(sides.before->step.options.input_copy == k_pinned);
  CHECK(effect(sides, Slowed::copy_in_step).ratio == Approx(524.0 / 465));
  CHECK(effect(sides, Slowed::step).verdict == Verdict::worse);
  CHECK(effect(sides, Slowed::communication).verdict == Verdict::no_difference);
}

TEST_CASE("Too few processes decide nothing about copies") {
  const Compared compared(input_run(2));
  const CopyComparisons& found = compared.found;

  REQUIRE(found.all.size() == 3);
  CHECK(found.tested == 0);
  for (const CopyEffect& one : found.all[0].effects) {
    CHECK(one.verdict == Verdict::not_decided);
    REQUIRE(id_of(one.why_not_decided) == "too_few_pairs");
    CHECK(one.why_not_decided->values == Object{{"processes", 2U}, {"least", 5U}});
  }
  auto sentences = input_copy_sentences(compared.results);
  REQUIRE(!sentences.empty());
  CHECK_THAT(sentences[0], ContainsSubstring("(not decided)") && !ContainsSubstring("(same)"));
}

TEST_CASE("Half the processes apart by as much as the copy costs: noise") {
  RunBuilder noisy(2);
  for (int id = 0; id < 8; ++id) {
    auto trial = noisy.trial();
    const std::int64_t more = id % 2 == 0 ? 21 : 20;
    add_parts(*trial, {}, {100, 100, 100, 80, 60, 50, 10}, 0, 0);
    add_parts(*trial, k_pinned, {100, 100, 100, 80, 60, 50, 10 + more, 100}, 100,
              id % 2 == 0 ? 100 : 110);
  }

  const Compared compared(std::move(noisy));
  const CopyComparisons& found = compared.found;

  REQUIRE(found.all.size() == 1);
  CHECK(*found.floor == Approx(1.1));
  CHECK(*effect(found.all[0], Slowed::step).adjusted_p < 0.01);
  CHECK(effect(found.all[0], Slowed::step).verdict == Verdict::no_difference); // 5% of 10%
}

TEST_CASE("Copies whose cost scatters more than it could show are too noisy to tell") {
  RunBuilder noisy(2);
  for (int id = 0; id < 6; ++id) {
    auto trial = noisy.trial();
    add_parts(*trial, {}, {100, 100, 100, 80, 60, 50, 10}, 0, 0);
    add_parts(*trial, k_pinned, {100, 100, 100, 80, 60, 50, 10 + 300 * (id % 3), 100}, 100, 100);
  }

  const Compared compared(std::move(noisy));

  REQUIRE(compared.found.all.size() == 1);
  const CopyEffect& step = effect(compared.found.all[0], Slowed::step);
  CHECK(step.verdict == Verdict::not_decided);
  CHECK(id_of(step.why_not_decided) == "too_noisy");
}

TEST_CASE("Without the step without a copy there is nothing to tell") {
  RunBuilder alone(2);
  add_parts(*alone.trial(), k_pinned, {.copy = 10}, 10, 10);

  CHECK(Compared(std::move(alone)).found.all.empty());
}
