// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/scaling.h"
#include "knowledge/gpu_models.h"
#include "model/run.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// What a measured rate costs, at prices that the user gives: none is built in. They are in whatever
// unit the user means.
namespace ncclprobe::analysis {

// By GPU name as the user gave it; "" is the price of any GPU.
using Prices = std::map<std::string, double>;

// Of a GPU by its name or, failing that, by the model that both names mean.
std::optional<double> price_of(const std::string& name,
                               const std::vector<const knowledge::GpuModel*>& models,
                               const Prices& prices);

// Names that were given a price and mean none of these GPUs.
std::vector<std::string> priced_in_vain(const Prices& prices, const std::vector<std::string>& gpus);

// The mean over the ranks' GPUs. Errors: not_found, with the GPUs that have no price.
base::Result<double> price_per_gpu(const model::Run& run, const Prices& prices);

// A price, laid on what the run reached.
struct BandwidthCost {
  const SettingResult* best = nullptr; // of its sizes, the one with the highest busbw
  double per_gb_per_s = 0;             // price of a GPU / busbw, which is each GPU's
};
struct GpuCost {
  const steps::ScalingPoint* point = nullptr;
  double effective_gpus = 0;    // n E(n): as many that lose nothing would do as much
  double per_effective_gpu = 0; // price of a GPU / E(n)
};
// Of each collective with default settings (where those have no result, with all others) that was
// measured at enough sizes for saturations(): the busbw of one small size is no bandwidth.
std::vector<BandwidthCost> bandwidth_costs(const std::vector<SettingResult>& results,
                                           double per_gpu);
// Of each scaling of default settings; points into `scalings`.
std::vector<GpuCost> gpu_costs(const std::vector<steps::Scaling>& scalings, double per_gpu);

} // namespace ncclprobe::analysis
