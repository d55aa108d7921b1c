// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/suitability.h"
#include "analysis/suitability/suitability_words.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "knowledge/document.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using knowledge::GpuModel;

template <typename T>
nlohmann::json number_json(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json addresses(const std::vector<std::string>& keys) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& key : keys)
    all.push_back(knowledge::source_text(key));
  return all;
}

nlohmann::json model_json(const GpuModel& model) {
  nlohmann::json json{{"name", model.name},
                      {"compute_capability", model.capability.text()},
                      {"segment", base::to_string(model.segment)},
                      {"arm_host", model.arm_host},
                      {"memory_gb", number_json(model.memory_gb)},
                      {"memory_gb_per_s", number_json(model.memory_gb_per_s)},
                      {"memory_type", model.memory_type},
                      {"on_pcie", model.on_pcie},
                      {"pcie_generation", number_json(model.pcie_generation)},
                      {"pcie_width", number_json(model.pcie_width)},
                      {"pcie_gb_per_s", number_json(model.pcie_gb_per_s)},
                      {"nvlink", nullptr},
                      {"power_w", number_json(model.power_w)},
                      {"form_factor", model.form_factor},
                      {"note", model.note}};
  if (model.nvlink)
    json["nvlink"] = {{"present", model.nvlink->present},
                      {"generation", model.nvlink->generation},
                      {"links", number_json(model.nvlink->links)},
                      {"gb_per_s", number_json(model.nvlink->gb_per_s)},
                      {"bridged_gpus", number_json(model.nvlink->bridged_gpus)},
                      {"via", model.nvlink->via}};
  json["sources"] = {{"capability", addresses(model.sources.capability)},
                     {"card", addresses(model.sources.card)},
                     {"nvlink", addresses(model.sources.nvlink)}};
  return json;
}

nlohmann::json gpu_json(const GpuInQuestion& gpu, const SoftwareInQuestion& software,
                        const Prices& prices) {
  const knowledge::SupportHorizon horizon = knowledge::support_horizon(gpu.capability, cpu_of(gpu));
  const Suitability suited = suitability(gpu);
  nlohmann::json json{{"name", base::printable(gpu.name)},
                      {"count", gpu.count},
                      {"compute_capability", gpu.capability.text()},
                      {"suited", base::to_string(suited.grade)},
                      {"suited_because", suited.reasons},
                      {"architecture", horizon.architecture},
                      {"first_cuda", version_text(horizon.first_cuda)},
                      {"last_cuda", nullptr},
                      {"first_driver_branch", version_text(horizon.first_driver)},
                      {"last_driver_branch", nullptr},
                      {"price", number_json(price_of(gpu.name, gpu.models, prices))}};
  if (horizon.last_cuda)
    json["last_cuda"] = horizon.last_cuda->text();
  if (horizon.last_driver)
    json["last_driver_branch"] = horizon.last_driver->text();
  json["cpu"] = base::to_string(cpu_of(gpu));
  json["nccl_faults"] = nlohmann::json::array();
  for (const knowledge::KnownBadNccl* one : bad_nccl(gpu))
    json["nccl_faults"].push_back(one->text());
  json["first_pytorch_wheel"] = horizon.first_wheel ? horizon.first_wheel->name() : "unknown";
  json["newest_pytorch_wheel"] = horizon.last_wheel ? horizon.last_wheel->name() : "unknown";
  json["models"] = nlohmann::json::array();
  for (const GpuModel* model : gpu.models)
    json["models"].push_back(model_json(*model));
  if (const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability))
    json["features"] = {{"tensor_types", features->tensor_types},
                        {"tf32", word(features->tf32)},
                        {"bf16", word(features->bf16_ops)},
                        {"fp8", word(features->fp8)},
                        {"tma", word(features->tma)},
                        {"multicast", word(multicast_of(gpu, *features))}};
  for (const ChainVerdict& verdict : judge_chains(gpu, software)) {
    nlohmann::json chain{{"feature", verdict.chain->feature}, {"verdict", word(verdict.all)}};
    for (std::size_t i = 0; i < verdict.links.size(); ++i)
      chain["links"].push_back(
          {{"needs", verdict.chain->links[i].text}, {"verdict", word(verdict.links[i])}});
    json["chains"].push_back(std::move(chain));
  }
  return json;
}

} // namespace

std::string explain_gpus_json(const std::vector<GpuWithSoftware>& gpus, const Prices& prices,
                              const nlohmann::json& more) {
  nlohmann::json json{{"schema", "ncclprobe.gpu_explanation/2"},
                      {"tables_date", knowledge::tables_date()},
                      {"gpus", nlohmann::json::array()}};
  for (const GpuWithSoftware& one : gpus)
    json["gpus"].push_back(gpu_json(one.gpu, one.software, prices));
  json.update(more);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
