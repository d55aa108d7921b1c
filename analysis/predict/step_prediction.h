// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/measured_rates.h"
#include "analysis/predict/transfer_costs.h"
#include "analysis/predict/work_costs.h"
#include "analysis/report_value/why.h"
#include "analysis/steps/step_results.h"
#include "workload/step_request.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Predicts training steps, of any pattern, on more ranks than were measured: builds the schedule of
// such a step and replays it with the models' times for its operations.
namespace ncclprobe::analysis::cost_model {

// A figure from the user, or the range that contains it.
struct Stated {
  Stated(double exact = 0) : low(exact), high(exact) {} // NOLINT: a number is one
  Stated(double from, double to) : low(from), high(to) {}
  double low, high;
  double middle() const {
    return std::sqrt(low * high);
  } // both ends are equally far away, as a ratio
};

// The user's statement about computing, instead of a measurement: all of a model on one rank, with
// the request's samples.
struct StatedCompute {
  Stated forward_ns;
  Stated backward_ns;
  Stated optimizer_ns;
  std::string source;                                  // "as stated, ..."
  enum class Basis { time, rate } basis = Basis::time; // a rate holds for products of any size
  double half_width() const;
};

// Why a step cannot be predicted.
namespace unpredicted {
inline constexpr FindingKind k_impossible_step{"impossible_step", Severity::warning, "{problem}"};
inline constexpr FindingKind k_unknown_transfer{"unknown_transfer", Severity::warning, "{problem}"};
} // namespace unpredicted

// Why a prediction has no interval.
namespace no_interval {
inline constexpr FindingKind k_one_process{
    "one_process", Severity::warning,
    "only one process was measured, so the difference between processes is unknown (run --repeat)"};
inline constexpr FindingKind k_few_products{
    "few_products", Severity::warning,
    "too few sizes of products were measured to know how their rate changes (run another model "
    "too, or state a range: --tflops 350-450)"};
inline constexpr FindingKind k_unknown_activities{
    "unknown_activities", Severity::warning,
    "it is unknown how long {activities} takes (run a step of that kind)"};
inline constexpr FindingKind k_unknown_sizes{
    "unknown_sizes", Severity::warning,
    "operations on {ranks} ranks have a size that was not measured or stated, so their time is "
    "unknown (three numbers of ranks show how it changes: run --ranks 1,2,4 --repeat 3)"};
inline constexpr FindingKind k_no_replay{
    "no_replay", Severity::warning,
    "the replay's error is unknown: too few sizes of the measured step's collectives were "
    "measured to replay it"};
inline constexpr FindingKind k_replay_is_off{
    "replay_is_off", Severity::warning,
    "the replay of the measured step is off by {percent:+.1f}%: it misses something, whose share "
    "may change with the number of ranks"};
inline constexpr FindingKind k_one_number_of_ranks{
    "one_number_of_ranks", Severity::warning,
    "{collective} was measured only on {ranks} ranks, so its growth with the number of ranks is "
    "unknown"};
inline constexpr FindingKind k_few_sizes{
    "few_sizes", Severity::warning,
    "too few sizes of {collective} were measured to know its scatter"};
} // namespace no_interval

// The basis of a prediction.
struct StepBase {
  workload::StepRequest request;
  std::string source; // "measured at 4 ranks", ...
  WorkCosts works;
  int ranks = 0; // number of ranks that was measured; 0: none
  // From this step, or from another one whose rates are used (rated_base); neither if computing is
  // stated.
  std::optional<StepProgram> program;
  steps::StepTimes measured;
  int measured_ranks = 0;
  // Relative, 95%: how far one further process may be from the measured step apart from
  // communication; for another model's rates, including their error. Nothing if unknown.
  std::optional<double> half_width;
  Why why_no_half_width;
  std::optional<double> held_out_error; // error for the largest measured step (HeldOut)
  double alone_ns = 0;                  // the step of a single rank
  double alone_samples = 0;             // its number of samples
  std::string alone_source;
};

// The run's steps of that request with default settings, at the most ranks up to `most_ranks`;
// those at fewer ranks show how times change with an operation's work. Nothing if there is none.
std::optional<StepBase> measured_base(const model::Run& run,
                                      const std::vector<steps::StepResult>& results,
                                      const workload::StepRequest& request, int most_ranks);
// Rates that the user does not state, such as copies into buckets, come from `others`, steps of any
// model. Errors: those of the pattern's maker.
base::Result<StepBase> stated_base(const workload::StepRequest& request,
                                   const StatedCompute& compute,
                                   const std::vector<MeasuredRates>& others = {});
// With the rates of the first of `others` that has products; missing rates come from the rest.
// Errors: not_found if none has products; those of the pattern's maker.
base::Result<StepBase> rated_base(const workload::StepRequest& request,
                                  const std::vector<MeasuredRates>& others);

// Computing at a stated rate of matrix products, operations per second of one rank.
StatedCompute stated_at_rate(const workload::StepRequest& request, const Stated& flops_per_s);
// Samples of one step on so many ranks; 0 if the step is impossible there.
double samples_on(const workload::StepRequest& request, int ranks);

// Floating point operations of one sample in the forward and in the backward pass.
struct Flops {
  double forward = 0;
  double backward = 0;
};
Flops flops_of(const workload::ModelSpec& spec);

struct Predicted {
  int ranks = 0;
  double step_ns = 0;
  std::optional<Interval> step_interval_ns;
  double exposed_ns = 0; // neither computing nor idle in the measured step
  double efficiency = 0;
  std::optional<Interval> efficiency_interval;
  Why why_not;         // nothing of the above counts
  Why why_no_interval; // if it has none
  // Half the interval's width, relative to the step, by source; they add up as squares. Replay:
  // errors of earlier replays. Sizes: operations with more or less work than any measured one.
  double from_transfers = 0, from_computing = 0, from_inter_node = 0, from_replay = 0;
  double from_sizes = 0;
  std::vector<std::string> unknown; // activities that are assumed to take no time
};

struct ClusterShape {
  int ranks_per_node = 0;
  std::optional<InterNodeRange> inter_node;
};
Predicted predict(const StepBase& base, const TransferCosts& transfers, int ranks,
                  const ClusterShape& where);

// Collectives that the step needs on that many ranks; none if it is impossible.
std::set<model::Collective> collectives_of(const workload::StepRequest& request, int ranks);

// The measured step's replay; nothing if some transfer has no model.
std::optional<StepProgram::Times> replayed(const StepBase& base, const TransferCosts& transfers,
                                           const ClusterShape& where);

// The step measured at the most ranks, predicted from the measurements at fewer.
struct HeldOut {
  Predicted predicted;
  double measured_ns = 0;
  std::vector<int> from_ranks; // of collectives
  double error() const { return predicted.step_ns / measured_ns - 1; }
};
std::optional<HeldOut> held_out(const model::Run& run,
                                const std::vector<steps::StepResult>& results,
                                const std::vector<Point>& points,
                                const workload::StepRequest& request, const ClusterShape& where);

} // namespace ncclprobe::analysis::cost_model
