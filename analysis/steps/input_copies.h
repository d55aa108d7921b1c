// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/scaling.h"
#include "analysis/steps/step_results.h"
#include "analysis/verdict/verdict.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

// What copying input from the host beside a step costs the step, its communication, its computing
// and the copy (docs/method.md, "Input copies"). Every process gives one ratio of each, as it
// measured both sides; what is compared stands in the same process, so its ratios scatter less than
// times.
namespace ncclprobe::analysis::steps {

// The first three: with the copy / without, of which the second and third are taken from the step
// without the other of the two. copy: beside communication without computing / alone.
// copy_in_step: beside the whole step / alone.
enum class Slowed { step, communication, computing, copy, copy_in_step };
constexpr auto enum_names(Slowed) {
  using enum Slowed;
  return std::to_array<std::pair<Slowed, std::string_view>>({{step, "step"},
                                                             {communication, "communication"},
                                                             {computing, "computing"},
                                                             {copy, "copy beside comm."},
                                                             {copy_in_step, "copy in the step"}});
}

struct CopyEffect {
  Slowed what = Slowed::step;
  double before_ns = 0; // medians over processes
  double after_ns = 0;
  double ratio = 1;                 // after / before: geometric mean over processes
  std::optional<RatioTest> test;    // two processes or more have one
  std::optional<double> adjusted_p; // Holm, over all effects of the run that were tested
  std::optional<double> detectable; // least ratio that would have had a verdict; as adjusted_p
  Verdict verdict = Verdict::not_decided; // worse: takes longer
  std::string why_not_decided;
};

// One kind of copy against none, or pageable memory against pinned.
struct CopyComparison {
  const StepResult* after = nullptr;  // StepParts::all, with the copy
  const StepResult* before = nullptr; // the same without, or with the copy from pinned memory
  std::vector<CopyEffect> effects;    // those of which both sides were measured
  // Of the step: sums to 1 - before / after.
  std::optional<LossAccount> account;
  // Of one rank's copy, medians over processes; nothing where it was not measured.
  std::optional<double> alone_gb_per_s;
  std::optional<double> in_step_gb_per_s;
};

struct CopyComparisons {
  std::vector<CopyComparison> all; // by ranks; pinned memory, pageable, one against the other
  // How far two halves of the processes lay apart, even replicates against odd ones: the largest of
  // all effects. A difference must exceed it.
  std::optional<double> floor;
  int tested = 0;
};

// Of all steps with an input copy whose step without one was measured too. Points into `results`.
// The account's terms are those of LossAccount, with `slowed_compute` for what the copy slows down.
CopyComparisons copy_comparisons(const std::vector<StepResult>& results);

} // namespace ncclprobe::analysis::steps
