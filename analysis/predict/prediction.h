// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/loggp.h"
#include "analysis/predict/step_prediction.h"
#include "model/run.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Predictions of training steps from a run: the input and output of `ncclprobe predict`.
namespace ncclprobe::analysis {

struct PredictionRequest {
  std::string model; // name or file; empty: the model of the run's steps
  std::vector<int> ranks;
  std::optional<cost_model::InterNodeRange> inter_node;
  int ranks_per_node = 0; // 0: as many as a host of the run has
  // Used instead of measured steps of that model, or of the rates of other models' steps.
  std::optional<cost_model::StatedCompute> compute;
  std::optional<cost_model::Stated> flops_per_s; // of one rank, as the user states it
  std::uint64_t sequence = 0;                    // 0: that of the run, else the model's default
  bool says_batch = false;                       // `say` sets the batch
  bool of_nodes_file = false; // hints name keys of a file of nodes, not options of predict
  // Applies the user's options of the step; everything else is as the run measured it.
  std::function<void(workload::StepRequest&)> say = [](workload::StepRequest&) {};
};

struct Prediction {
  PredictionRequest request;
  bool synthetic = false;
  int ranks_per_node = 0;
  std::vector<cost_model::CollectiveModel> models;
  std::vector<cost_model::LogGp> loggp;
  std::optional<cost_model::LeftOut> left_out;
  std::map<model::Collective, cost_model::RankErrors> rank_errors;
  std::optional<cost_model::HeldOut> held_out;
  cost_model::StepBase base;
  std::optional<double> replayed_ns; // of the measured step, from its schedule alone
  std::vector<cost_model::Predicted> predicted;
};
// `also`: further runs on the same machine, for their collectives. Errors: not_found if nothing
// gives the step's computing time, or without collectives measured at two sizes or more on two
// ranks or more; invalid_argument for an unknown model, or if several steps match the options.
base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request,
                                 const std::vector<model::Run>& also = {});

} // namespace ncclprobe::analysis
