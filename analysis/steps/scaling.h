// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/step_results.h"

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

// Why n ranks are not n times as fast (docs/method.md, "Scaling and the loss account").
namespace ncclprobe::analysis::steps {

// Where the lost share of a step went. Every moment of a step belongs to one of these; the base
// step's share is subtracted.
enum class Loss {
  exposed_wait,     // for other ranks, but not for one that is always late
  exposed_transfer, // data moves without computing
  exposed_copy,     // only input is copied from the host
  slowed_compute,   // computing takes longer than without communication
  stragglers,       // the rest of the exposed wait: for ranks that are late again and again
  preparation,      // computing that only communication needs, such as filling buckets
  idle,             // nothing runs on the device
  clocks, // slower computing without communication, because GPU clocks are lower than at the base
  other,  // computing that changed for other reasons
};
inline constexpr std::size_t k_losses = 9;
constexpr auto enum_names(Loss) {
  using enum Loss;
  return std::to_array<std::pair<Loss, std::string_view>>(
      {{exposed_wait, "uncovered wait"},
       {exposed_transfer, "uncovered transfer"},
       {exposed_copy, "uncovered input copy"},
       {slowed_compute, "compute slowed by communication"},
       {stragglers, "stragglers"},
       {preparation, "preparation for communication"},
       {idle, "idle"},
       {clocks, "lower clocks"},
       {other, "other"}});
}

// Shares of the step time; negative for parts that became smaller.
struct LossAccount {
  std::array<double, k_losses> terms{}; // by Loss
  // Without a measurement of the step without communication, slowed computing is not separated: all
  // of it is in `other`.
  bool slowdown_known = false;
  // Otherwise the effect of clocks is in `other`, too.
  bool clocks_known = false;

  double of(Loss loss) const { return terms[static_cast<std::size_t>(loss)]; }
  double sum() const { return std::accumulate(terms.begin(), terms.end(), 0.0); }
};

// A step's time, the part due to stragglers, and the SM clock if known, in one process or over
// several.
struct AccountSide {
  StepTimes times;
  double stragglers_ns = 0;
  std::optional<double> sm_clock_mhz;
};
AccountSide side_of(const StepProcess& process);
// Over several processes: mean shares of the geometric mean of the step times; the mean clock, if
// it is known for each.
AccountSide mean_side(const std::vector<const StepProcess*>& processes);

// `ideal`: the step time of `at` if nothing were lost / the base's step time: 1 if every rank has
// as much work as in the base. Then efficiency = ideal x base / at, in step times, and the
// account's terms add up to 1 - efficiency. `alone`: `at` without communication, if measured.
LossAccount loss_account(const AccountSide& base, const AccountSide& at, double ideal,
                         const std::optional<AccountSide>& alone);

struct ScalingPoint {
  const StepResult* result = nullptr; // StepParts::all
  int ranks = 0;
  double step_ns = 0;
  Estimate efficiency; // 1 at the base; over the processes that measured both
  LossAccount account; // sums to 1 - efficiency.value
  std::array<std::optional<Interval>, k_losses> intervals; // of the account's terms
  std::vector<std::string> remarks; // why GPUs were slow, here or at the base
};

enum class ScalingKind { weak, strong, mixed };

// One step at several numbers of ranks.
struct Scaling {
  ScalingKind kind = ScalingKind::weak; // samples per rank, or per step, stay the same
  std::vector<ScalingPoint> points;     // by number of ranks; the first is the base
};
// For every step that was measured at two numbers of ranks or more. Points into `results`.
std::vector<Scaling> scalings(const std::vector<StepResult>& results);

// "at 8 ranks 91.2% [90.8, 91.5]; of the 8.8% lost, 5.1 is uncovered transfer, ...": the largest
// terms, above a tenth of the loss; gains too, always if the terms before them exceed the loss.
std::string verdict_sentence(const ScalingPoint& point);
// "of the 8.8% lost, 5.1 is uncovered transfer, ..."; for an account with a loss.
std::string loss_sentence(const LossAccount& account, std::string_view slowed_by);

} // namespace ncclprobe::analysis::steps
