// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/ddp_prediction.h"
#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

// What `ncclprobe predict` says.
namespace ncclprobe::analysis {

struct PredictionRequest {
  std::string model;
  std::vector<int> ranks;
  std::optional<cost_model::InterNode> inter_node;
  int ranks_per_node = 0; // 0: as many as a host of the run has
  // In place of measured steps of that model, or for want of them.
  std::optional<cost_model::StatedCompute> compute;
  std::optional<double> flops_per_s; // of one rank, as the user says
  std::uint64_t batch = 0;           // samples of a rank; needed with flops_per_s
  std::uint64_t sequence = 0;        // 0: the model's default
  model::DataType type = model::DataType::f32;
  std::optional<std::uint64_t> bucket_bytes; // nothing: PyTorch's default
};

struct Prediction {
  PredictionRequest request;
  bool synthetic = false;
  int ranks_per_node = 0;
  std::vector<cost_model::CollectiveModel> models;
  std::optional<cost_model::LeftOut> left_out;
  std::optional<cost_model::HeldOut> held_out;
  cost_model::DdpStep step;
  std::optional<double> modelled_exposed_ns; // of the measured step itself
  std::vector<cost_model::Predicted> predicted;
};
// Errors: not_found without measured all-reduces of two sizes on two ranks or more, or with nothing
// to tell the step's computing from; invalid_argument for a model that is not known.
base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request);

std::string render_prediction(const Prediction& prediction);      // for people
std::string render_prediction_json(const Prediction& prediction); // one object

} // namespace ncclprobe::analysis
