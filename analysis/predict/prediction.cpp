// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/prediction.h"

#include "analysis/predict/prediction_base.h"
#include "base/text_layout.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis {
namespace {

// The most ranks of any host; 0 for a run without any.
int ranks_per_host(const model::Run& run) {
  std::map<int, int> counts;
  int most = 0;
  for (const model::RankPlace& place : run.header.ranks)
    most = std::max(most, ++counts[place.host]);
  return most;
}

// None of the collectives that the step needs.
base::Error nothing_measured(const workload::StepRequest& request, const std::vector<int>& ranks,
                             bool of_nodes_file) {
  std::vector<std::string> names;
  for (model::Collective one : cost_model::collectives_of(request, ranks.front()))
    names.emplace_back(model::to_string(one));
  return {
      base::Errc::not_found,
      fmt::format("this run has no {} of two sizes or more on two ranks or more",
                  names.empty() ? "collective" : base::join(names, ", ")),
      fmt::format("measure {} and add that run {}: ncclprobe run --collectives {} --sizes 1M:1G",
                  names.size() > 1 ? "them" : "it",
                  of_nodes_file ? "to the runs of the node" : "with --also",
                  names.empty() ? "all_reduce" : base::join(names, ","))};
}

} // namespace

base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request,
                                 const std::vector<model::Run>& also) {
  const RunSummary summary(run);
  const std::vector<SettingResult> pooled = setting_results(summary);
  const std::vector<steps::StepResult> results = steps::step_results(summary, pooled);
  std::vector<cost_model::Point> points = cost_model::cost_points(summary, pooled);
  std::vector<cost_model::Point> single = cost_model::latency_points(run, pooled);
  for (const model::Run& one : also) {
    const RunSummary other(one);
    const std::vector<SettingResult> theirs = setting_results(other);
    cost_model::add_points(points, cost_model::cost_points(other, theirs));
    cost_model::add_points(single, cost_model::latency_points(other, theirs));
  }
  Prediction out{.request = request,
                 .synthetic = run.header.synthetic || run.header.backend == "synthetic"};
  out.ranks_per_node = request.ranks_per_node > 0 ? request.ranks_per_node : ranks_per_host(run);
  const cost_model::TransferCosts transfers(points, out.ranks_per_node);
  NCCLPROBE_TRY_ASSIGN(out.base, base_of(run, results, request));
  if (transfers.rank_errors().empty())
    return base::fail(nothing_measured(out.base.request, request.ranks, request.of_nodes_file));
  out.models = cost_model::collective_models(points);
  out.loggp = cost_model::loggp_models(points, single);
  out.left_out = cost_model::left_out(out.models);
  out.rank_errors = transfers.rank_errors();
  const cost_model::ClusterShape where{out.ranks_per_node, request.inter_node};
  if (out.base.ranks > 0) {
    out.held_out = cost_model::held_out(run, results, points, out.base.request, where);
    if (out.held_out)
      out.base.held_out_error = out.held_out->error();
  }
  if (auto times = cost_model::replayed(out.base, transfers, where))
    out.replayed_ns = times->step_ns;
  for (int ranks : request.ranks)
    out.predicted.push_back(cost_model::predict(out.base, transfers, ranks, where));
  return out;
}

} // namespace ncclprobe::analysis
