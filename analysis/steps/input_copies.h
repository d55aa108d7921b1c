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

// The cost of copying input from the host during a step: for the step, its communication, its
// computing and the copy (docs/method.md, "Input copies"). Every process gives one ratio of each,
// because it measured both sides. Ratios within one process scatter less than times.
namespace ncclprobe::analysis::steps {

// The first three: with the copy / without; the second and third are from steps without compute or
// without communication. copy: during communication without computing / alone. copy_in_step: during
// the whole step / alone.
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
  std::optional<RatioTest> test;    // needs two processes or more
  std::optional<double> adjusted_p; // Holm, over all tested effects of the run
  std::optional<double> detectable; // smallest ratio that would have had a verdict; as adjusted_p
  Verdict verdict = Verdict::not_decided; // worse: takes longer
  Why why_not_decided;
};

// One kind of copy against none, or pageable memory against pinned.
struct CopyComparison {
  const StepResult* after = nullptr; // StepParts::all, with the copy
  const StepResult* before =
      nullptr;                     // the same without the copy, or with the copy from pinned memory
  std::vector<CopyEffect> effects; // with both sides measured
  // Of the step: sums to 1 - before / after.
  std::optional<LossAccount> account;
  // Of one rank's copy, medians over processes; nothing if it was not measured.
  std::optional<double> alone_gb_per_s;
  std::optional<double> in_step_gb_per_s;
};

struct CopyComparisons {
  std::vector<CopyComparison> all; // by ranks; pinned memory, pageable, one against the other
  // The difference between two halves of the processes, even replicates against odd ones: the
  // largest of all effects. A real difference must exceed it.
  std::optional<double> floor;
  int tested = 0;
};

// For all steps with an input copy that were also measured without one. Points into `results`. The
// account's terms are those of LossAccount; `slowed_compute` is compute that the copy slows down.
CopyComparisons copy_comparisons(const std::vector<StepResult>& results);

} // namespace ncclprobe::analysis::steps
