// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_models.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace ncclprobe::knowledge {

NCCLPROBE_LENIENT_FIELDS(NvlinkFacts, present, generation, links, gb_per_s, via, bridged_gpus)
NCCLPROBE_LENIENT_FIELDS(TensorRates, bf16, f16, tf32)
NCCLPROBE_LENIENT_FIELDS(GpuSources, capability, card, nvlink, tensor)
NCCLPROBE_PARTLY_LENIENT_FIELDS(GpuModel,
                                (name, family, capability, architecture, segment, memory_gb,
                                 memory_type, sources),
                                (arm_host, memory_gb_per_s, tensor_tflops, nvlink, host_link,
                                 host_link_gb_per_s, power_w, form_factor, pci_device_ids, note))
NCCLPROBE_PARTLY_LENIENT_FIELDS(GpuFeatures, (capabilities, tensor_types, sources),
                                (tensor_core_generation, bf16_ops, tf32, fp8, fp4, async_copy, tma,
                                 clusters, multicast, shared_memory_kb, note))
NCCLPROBE_FIELDS(PcieGeneration, generation, gt_per_s, x16_gb_per_s, nccl_x16_gb_per_s)
NCCLPROBE_PARTLY_LENIENT_FIELDS(NvlinkGeneration, (generation, examples),
                                (link_gb_per_s, links_most, gpu_gb_per_s, nccl_link_gb_per_s, note))

namespace {

// "4 x16", "5" (width unknown), "none", or nothing.
void read_pcie(std::string_view text, GpuModel& into) {
  into.on_pcie = text != "none";
  if (text.empty() || !into.on_pcie)
    return;
  auto number = [](std::string_view part) {
    int value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size())
      throw std::logic_error("no PCIe link: " + std::string(part));
    return value;
  };
  std::size_t by = text.find(" x");
  into.pcie_generation = number(text.substr(0, by));
  if (by == std::string_view::npos)
    return;
  into.pcie_width = number(text.substr(by + 2));
  into.pcie_gb_per_s = pcie_gb_per_s(*into.pcie_generation, *into.pcie_width);
}

// `one` with the common values of its family. (Null is also a value: not sourced.)
GpuModel model_of(nlohmann::json one, const nlohmann::json& family) {
  const nlohmann::json& common = family.at("sources");
  nlohmann::json sources{{"card", one.at("sources")}};
  for (const char* kind : {"capability", "nvlink", "tensor"})
    sources[kind] =
        one.value(fmt::format("{}_sources", kind), common.value(kind, nlohmann::json()));
  for (const auto& [field, value] : family.items())
    one.emplace(field, value);
  one["sources"] = sources;
  if (one.value("nvlink", nlohmann::json()) == "none")
    one["nvlink"] = nlohmann::json::object();
  auto model = value_of<GpuModel>(one);
  if (auto pcie = one.find("pcie"); pcie != one.end() && pcie->is_string())
    read_pcie(pcie->get<std::string>(), model);
  model.names = {words_of_gpu_name(model.name)};
  for (const std::string& name : one.value("driver_names", std::vector<std::string>{}))
    model.names.push_back(words_of_gpu_name(name));
  return model;
}

NameMatch best_match(const NameWords& asked, const GpuModel& model) {
  NameMatch best = NameMatch::none;
  for (const NameWords& name : model.names)
    best = std::max(best, match_gpu_name(asked, name));
  return best;
}

// Keeps the models that match `fits`, unless none does.
template <typename Fits>
std::vector<const GpuModel*> narrowed(const std::vector<const GpuModel*>& models, Fits fits) {
  std::vector<const GpuModel*> kept;
  std::ranges::copy_if(models, std::back_inserter(kept), fits);
  return kept.empty() ? models : kept;
}

} // namespace

std::optional<double> NvlinkFacts::total_gb_per_s() const {
  return gb_per_s ? std::optional(2 * *gb_per_s) : std::nullopt;
}

std::string TensorRates::text() const {
  std::string text;
  for (const auto& [type, rate] : {std::pair("bf16", bf16), {"f16", f16}, {"tf32", tf32}})
    if (rate)
      text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", type, *rate);
  return text.empty() ? text : text + " Tflop/s";
}

std::vector<std::string> GpuSources::all() const {
  std::vector<std::string> keys;
  for (const auto* list : {&card, &capability, &nvlink, &tensor})
    for (const std::string& key : *list)
      if (std::ranges::find(keys, key) == keys.end())
        keys.push_back(key);
  return keys;
}

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> all = [] {
    std::vector<GpuModel> made;
    for (const char* document : {"gpus_until_volta", "gpus_turing", "gpus_ampere", "gpus_ada",
                                 "gpus_hopper", "gpus_blackwell"})
      for (const auto& family : section(document, "families"))
        for (const auto& one : family.at("models"))
          made.push_back(model_of(one, family));
    return made;
  }();
  return all;
}

std::vector<const GpuModel*> find_gpu_models(std::string_view name) {
  const NameWords asked = words_of_gpu_name(name);
  std::vector<const GpuModel*> exact, open;
  for (const GpuModel& one : gpu_models()) {
    const NameMatch match = best_match(asked, one);
    if (match == NameMatch::exact)
      exact.push_back(&one);
    else if (match == NameMatch::open)
      open.push_back(&one);
  }
  if (!exact.empty())
    return exact;
  // A driver's memory size may differ from the data sheet's: it selects among models if possible.
  const std::optional<double> gb = memory_gb_in(asked);
  return narrowed(open, [&](const GpuModel* model) { return !gb || model->memory_gb == gb; });
}

const GpuModel* gpu_model_of_device(std::uint32_t pci_device_id) {
  const std::string id = fmt::format("{:04X}", pci_device_id);
  for (const GpuModel& one : gpu_models())
    if (std::ranges::find(one.pci_device_ids, id) != one.pci_device_ids.end())
      return &one;
  return nullptr;
}

std::vector<const GpuModel*> with_memory(const std::vector<const GpuModel*>& models, double gb) {
  // Published sizes are usually in GiB, and the driver reserves a part.
  constexpr double k_tolerance = 0.1;
  return narrowed(models, [&](const GpuModel* model) {
    return !model->memory_gb || std::abs(gb / *model->memory_gb - 1) <= k_tolerance;
  });
}

bool all_without_nvlink(const std::vector<const GpuModel*>& models) {
  return !models.empty() && std::ranges::all_of(models, [](const GpuModel* model) {
    return model->nvlink && !model->nvlink->present;
  });
}

const GpuFeatures* gpu_features(const ComputeCapability& capability) {
  static const auto all = rows<GpuFeatures>("gpus", "features");
  for (const GpuFeatures& one : all)
    if (std::ranges::find(one.capabilities, capability) != one.capabilities.end())
      return &one;
  return nullptr;
}

const std::vector<PcieGeneration>& pcie_generations() {
  static const auto all = rows<PcieGeneration>("gpus", "pcie_generations");
  return all;
}

std::optional<double> pcie_gb_per_s(int generation, int width) {
  for (const PcieGeneration& one : pcie_generations())
    if (one.generation == generation && width > 0)
      return one.x16_gb_per_s / 16 * width;
  return std::nullopt;
}

const std::vector<NvlinkGeneration>& nvlink_generations() {
  static const auto all = rows<NvlinkGeneration>("gpus", "nvlink_generations");
  return all;
}

std::optional<double> nvlink_gb_per_s(const ComputeCapability& capability) {
  for (const GpuModel& one : gpu_models()) {
    if (one.capability != capability || !one.nvlink || !one.nvlink->present)
      continue;
    for (const NvlinkGeneration& generation : nvlink_generations())
      if (generation.generation == one.nvlink->generation)
        return generation.link_gb_per_s;
  }
  return std::nullopt;
}

} // namespace ncclprobe::knowledge
