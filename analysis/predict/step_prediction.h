// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/measured_rates.h"
#include "analysis/predict/transfer_costs.h"
#include "analysis/predict/work_costs.h"
#include "analysis/steps/step_results.h"
#include "workload/step_request.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Steps of training on more ranks than were measured, of any pattern: the schedule that would be
// run there is made, and replayed with the times that models give to its operations.
namespace ncclprobe::analysis::cost_model {

// A figure that a user says, or between what it lies.
struct Stated {
  Stated(double exact = 0) : low(exact), high(exact) {} // NOLINT: a number is one
  Stated(double from, double to) : low(from), high(to) {}
  double low, high;
  double middle() const { return std::sqrt(low * high); } // both ends are as many times away
};

// What a user says of computing, in place of a measurement: of all of a model on one rank, with the
// request's samples.
struct StatedCompute {
  Stated forward_ns;
  Stated backward_ns;
  Stated optimizer_ns;
  std::string source;                                  // "as stated, ..."
  enum class Basis { time, rate } basis = Basis::time; // a rate is meant for products of any size
  double half_width() const;
};

// What a prediction starts from.
struct StepBase {
  workload::StepRequest request;
  std::string source; // "measured at 4 ranks", ...
  WorkCosts works;
  int ranks = 0; // that it was measured at; 0: it was not
  // Of this step, or of another one whose rates are taken (rated_base); neither where computing is
  // stated.
  std::optional<StepProgram> program;
  steps::StepTimes measured;
  int measured_ranks = 0;
  // Relative, 95%: how far one further process may be from the measured step in what is not
  // communication; of another model's, its rates besides. Nothing if that is not known.
  std::optional<double> half_width;
  std::string why_no_half_width;
  std::optional<double> held_out_error; // of the largest step that was measured (HeldOut)
  double alone_ns = 0;                  // the step of a rank by itself
  double alone_samples = 0;             // that it works on
  std::string alone_source;
};

// The run's steps of that request with default settings, at the most ranks up to `most_ranks`;
// those at fewer tell how times change with the work of an operation. Nothing if there is none.
std::optional<StepBase> measured_base(const model::Run& run,
                                      const std::vector<steps::StepResult>& results,
                                      const workload::StepRequest& request, int most_ranks);
// Rates of what the user does not state, such as copies into buckets, are those of `others`, steps
// of any model. Errors: those of the pattern's maker.
base::Result<StepBase> stated_base(const workload::StepRequest& request,
                                   const StatedCompute& compute,
                                   const std::vector<MeasuredRates>& others = {});
// With the rates of the first of `others` that has products, and those that it lacks of the rest.
// Errors: not_found if none has; those of the pattern's maker.
base::Result<StepBase> rated_base(const workload::StepRequest& request,
                                  const std::vector<MeasuredRates>& others);

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
  double exposed_ns = 0; // not computing, but for what the measured step idles
  double efficiency = 0;
  std::optional<Interval> efficiency_interval;
  std::string why_not;         // nothing above counts
  std::string why_no_interval; // if it has none
  // Half the interval's width, relative to the step, by source; they add up as squares. Replay:
  // what replays were seen to be off by. Sizes: operations do more or less than any that was
  // measured.
  double from_transfers = 0, from_computing = 0, from_inter_node = 0, from_replay = 0;
  double from_sizes = 0;
  std::vector<std::string> unknown; // activities that are taken to need no time
};

struct ClusterShape {
  int ranks_per_node = 0;
  std::optional<InterNodeRange> inter_node;
};
Predicted predict(const StepBase& base, const TransferCosts& transfers, int ranks,
                  const ClusterShape& where);

// Collectives that the step needs on so many ranks; none if it cannot be made.
std::set<model::Collective> collectives_of(const workload::StepRequest& request, int ranks);

// The measured step's replay; nothing if some transfer has no model.
std::optional<StepProgram::Times> replayed(const StepBase& base, const TransferCosts& transfers,
                                           const ClusterShape& where);

// The step measured at the most ranks, predicted from what was measured at fewer.
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
