// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/collective_model.h"
#include "analysis/steps/step_results.h"
#include "workload/models/model_spec.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

// Steps of data parallel training (DDP) on more ranks than were measured.
namespace ncclprobe::analysis::cost_model {

struct Bucket {
  std::uint64_t bytes = 0;
  double ready_ns = 0; // since the step's begin
};

// Buckets are reduced one after the other, each when it is ready: f_k = max(f_(k-1), b_k) + t(m_k).
// How long the last one ends behind its gradients: f_last - b_last.
double exposed_ns(const std::vector<Bucket>& buckets,
                  const std::function<double(std::uint64_t bytes)>& time_ns);

// What a step is without what is being predicted.
struct DdpStep {
  std::vector<Bucket> buckets;
  double rest_ns = 0; // the step without its exposed transfer
  std::optional<Interval> rest_interval_ns;
  double alone_ns = 0;            // the step of a rank by itself: what efficiency is relative to
  std::string source;             // "measured at 4 ranks", ...
  int ranks = 0;                  // that it was measured at; 0: it was not
  double measured_exposed_ns = 0; // transfer
  double measured_step_ns = 0;
};

// From the run's own steps of that model, with default settings, at the most ranks up to
// `most_ranks`, that have buckets. A rank by itself is the step measured on one, else the step
// without communication. Nothing if there is none.
std::optional<DdpStep> measured_step(const model::Run& run,
                                     const std::vector<steps::StepResult>& results,
                                     const std::string& model, int most_ranks);

// From a model's architecture: PyTorch's buckets, ready as the FLOPs of the backward pass go by.
struct StatedCompute {
  double forward_ns = 0;
  double backward_ns = 0;
  double optimizer_ns = 0;
  std::string source; // "--forward and --backward"
};
DdpStep stated_step(const workload::ModelSpec& spec, model::DataType type,
                    std::optional<std::uint64_t> bucket_bytes, const StatedCompute& compute);

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
  double exposed_ns = 0;
  double efficiency = 0;
  std::optional<Interval> efficiency_interval;
  std::string why_not; // nothing above counts: more than a node, and no word of the wires
};
// By the recurrence alone; nothing beyond a node without `inter_node`.
std::optional<double> modelled_exposed_ns(const DdpStep& step, const RankModel& collectives,
                                          int ranks, const std::optional<InterNode>& inter_node);
// A measured step changes by what the recurrence changes: what it leaves out (copies out of the
// buckets hide some of the last ones) stays as it was measured.
// `error`: relative, of the times of collectives where their own interval is not known.
Predicted predict(const DdpStep& step, const RankModel& collectives, int ranks,
                  const std::optional<InterNode>& inter_node, std::optional<double> error);

// The largest step measured, predicted from what was measured at fewer ranks.
struct HeldOut {
  Predicted predicted;
  double measured_ns = 0;
  std::vector<int> from_ranks;
  double error() const { return predicted.step_ns / measured_ns - 1; }
};
std::optional<HeldOut> held_out(const model::Run& run,
                                const std::vector<steps::StepResult>& results,
                                const std::vector<Point>& points, const std::string& model,
                                int ranks_per_node, const std::optional<InterNode>& inter_node);

} // namespace ncclprobe::analysis::cost_model
