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

// The cost of a measured rate at the user's prices: there are no built-in ones. They are in the
// user's unit.
namespace ncclprobe::analysis {

// By GPU name as the user gave it; "" is the price of any GPU.
using Prices = std::map<std::string, double>;

// Four digits or more, never as a power of ten.
std::string money_text(double value);

// By the GPU's name or, failing that, by the model that both names mean.
std::optional<double> price_of(const std::string& name,
                               const std::vector<const knowledge::GpuModel*>& models,
                               const Prices& prices);

// Names with a price that match none of these GPUs.
std::vector<std::string> priced_in_vain(const Prices& prices, const std::vector<std::string>& gpus);

// The mean over the ranks' GPUs. Errors: not_found, with the GPUs that have no price.
base::Result<double> price_per_gpu(const model::Run& run, const Prices& prices);

// A price, applied to the run's results.
struct BandwidthCost {
  const SettingResult* best = nullptr; // of the collective's sizes, the one with the highest busbw
  double per_gb_per_s = 0;             // price of a GPU / busbw, which is per GPU
};
struct GpuCost {
  const steps::ScalingPoint* point = nullptr;
  double effective_gpus = 0;    // n E(n): the number of loss-free GPUs with the same throughput
  double per_effective_gpu = 0; // price of a GPU / E(n)
};
// For each collective with default settings (if those have no result, with all others) that was
// measured at enough sizes for saturations(): the busbw of one small size is not a bandwidth.
std::vector<BandwidthCost> bandwidth_costs(const std::vector<SettingResult>& results,
                                           double per_gpu);
// For each scaling of default settings; points into `scalings`.
std::vector<GpuCost> gpu_costs(const std::vector<steps::Scaling>& scalings, double per_gpu);

} // namespace ncclprobe::analysis
