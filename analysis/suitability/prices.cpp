// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/prices.h"

#include "analysis/results/rank_gpu.h"
#include "analysis/verdict/saturation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {

std::string money_text(double value) {
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::optional<double> price_of(const std::string& name,
                               const std::vector<const knowledge::GpuModel*>& models,
                               const Prices& prices) {
  if (auto named = prices.find(name); named != prices.end() && !name.empty())
    return named->second;
  for (const auto& [key, price] : prices) {
    auto meant = knowledge::find_gpu_models(key);
    if (!key.empty() && !meant.empty() && !models.empty() && meant.front() == models.front())
      return price;
  }
  auto any = prices.find("");
  return any == prices.end() ? std::nullopt : std::optional(any->second);
}

std::vector<std::string> priced_in_vain(const Prices& prices,
                                        const std::vector<std::string>& gpus) {
  std::vector<std::string> in_vain;
  for (const auto& [key, price] : prices)
    if (!key.empty() && std::none_of(gpus.begin(), gpus.end(), [&](const std::string& gpu) {
          return price_of(gpu, knowledge::find_gpu_models(gpu), {{key, price}}).has_value();
        }))
      in_vain.push_back(key);
  return in_vain;
}

base::Result<double> price_per_gpu(const model::Run& run, const Prices& prices) {
  std::set<std::string> without;
  double sum = 0;
  for (const model::RankPlace& place : run.header.ranks) {
    const model::CudaDevice* gpu = gpu_of(run.header, place);
    std::string name = gpu == nullptr ? "" : gpu->name;
    auto price = price_of(name, knowledge::find_gpu_models(name), prices);
    if (!price)
      without.insert(name.empty() ? "a host without a GPU" : name);
    sum += price.value_or(0);
  }
  if (run.header.ranks.empty())
    without.insert("a run without ranks");
  if (!without.empty())
    return base::fail(base::Error{
        base::Errc::not_found, fmt::format("no price was given for {}", fmt::join(without, ", ")),
        "--price GPU=VALUE for each, or --price VALUE for all"});
  return sum / static_cast<double>(run.header.ranks.size());
}

std::vector<BandwidthCost> bandwidth_costs(const std::vector<SettingResult>& results,
                                           double per_gpu) {
  const std::vector<Saturation> all = saturations(results);
  const bool any_default = std::any_of(all.begin(), all.end(),
                                       [](const Saturation& one) { return one.best->is_default; });
  std::vector<BandwidthCost> costs;
  for (const Saturation& one : all)
    if (one.best->is_default == any_default)
      costs.push_back({one.best, per_gpu / *one.best->busbw_gb_per_s});
  return costs;
}

std::vector<GpuCost> gpu_costs(const std::vector<steps::Scaling>& scalings, double per_gpu) {
  std::vector<GpuCost> costs;
  for (const steps::Scaling& scaling : scalings)
    for (const steps::ScalingPoint& point : scaling.points)
      if (point.result->is_default && point.efficiency.value > 0)
        costs.push_back(
            {&point, point.ranks * point.efficiency.value, per_gpu / point.efficiency.value});
  return costs;
}

} // namespace ncclprobe::analysis
