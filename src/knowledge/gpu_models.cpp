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
namespace {

// A model's own field, or else its family's.
class Fields {
public:
  Fields(const nlohmann::json& model, const nlohmann::json& family)
      : model_(model), family_(family) {}

  std::string text(const char* name) const { return text_of(owner(name), name); }
  template <typename T>
  std::optional<T> value(const char* name) const {
    return optional_of<T>(owner(name), name);
  }
  // From the model under `own`, or else from the family.
  std::vector<std::string> sources(const char* own, const char* of_family) const {
    return model_.contains(own) ? texts_of(model_, own)
                                : texts_of(family_.at("sources"), of_family);
  }

private:
  const nlohmann::json& owner(const char* name) const {
    return model_.contains(name) ? model_ : family_;
  }

  const nlohmann::json& model_;
  const nlohmann::json& family_;
};

Segment segment_of(const std::string& text) {
  for (const auto& [segment, name] : enum_names(Segment{}))
    if (name == text)
      return segment;
  throw std::logic_error("no segment '" + text + "'");
}

// "none", an object, or null for what is not sourced.
std::optional<NvlinkFacts> nvlink_of(const Fields& fields) {
  auto link = fields.value<nlohmann::json>("nvlink");
  if (!link)
    return std::nullopt;
  if (*link == "none")
    return NvlinkFacts{};
  return NvlinkFacts{true,
                     text_of(*link, "generation"),
                     optional_of<int>(*link, "links"),
                     optional_of<double>(*link, "gb_per_s"),
                     text_of(*link, "via"),
                     optional_of<int>(*link, "bridged_gpus")};
}

// "4 x16", "5" (width not sourced), "none", or nothing.
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

GpuModel model_of(const nlohmann::json& one, const nlohmann::json& family) {
  const Fields fields(one, family);
  GpuModel model;
  model.name = text_of(one, "name");
  model.family = text_of(family, "family");
  model.capability = value_or_throw(parse_compute_capability(fields.text("capability")));
  model.architecture = fields.text("architecture");
  model.segment = segment_of(fields.text("segment"));
  model.arm_host = fields.text("host") == "arm";
  model.memory_gb = fields.value<double>("memory_gb");
  model.memory_type = fields.text("memory_type");
  model.memory_gb_per_s = fields.value<double>("memory_gb_per_s");
  read_pcie(fields.text("pcie"), model);
  model.nvlink = nvlink_of(fields);
  if (auto link = fields.value<nlohmann::json>("host_link")) {
    model.host_link = text_of(*link, "type");
    model.host_link_gb_per_s = optional_of<double>(*link, "gb_per_s");
  }
  model.power_w = fields.value<double>("power_w");
  model.form_factor = fields.text("form_factor");
  model.pci_device_ids = texts_of(one, "pci_device_ids");
  model.note = fields.text("note");
  model.sources = {fields.sources("capability_sources", "capability"), texts_of(one, "sources"),
                   fields.sources("nvlink_sources", "nvlink")};
  model.names = {words_of_gpu_name(model.name)};
  for (const std::string& name : texts_of(one, "driver_names"))
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

std::vector<std::string> GpuSources::all() const {
  std::vector<std::string> keys;
  for (const auto* list : {&card, &capability, &nvlink})
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
  // Published sizes are usually in GiB, of which the driver keeps a part.
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
  static const std::vector<GpuFeatures> all = [] {
    std::vector<GpuFeatures> made;
    for (const auto& one : section("gpus", "features")) {
      GpuFeatures features;
      for (const std::string& text : texts_of(one, "capabilities"))
        features.capabilities.push_back(value_or_throw(parse_compute_capability(text)));
      features.tensor_core_generation = text_of(one, "tensor_core");
      features.tensor_types = texts_of(one, "tensor_types");
      features.bf16_ops = optional_of<bool>(one, "bf16_ops");
      features.tf32 = optional_of<bool>(one, "tf32");
      features.fp8 = optional_of<bool>(one, "fp8");
      features.fp4 = optional_of<bool>(one, "fp4");
      features.async_copy = optional_of<bool>(one, "async_copy");
      features.tma = optional_of<bool>(one, "tma");
      features.clusters = optional_of<bool>(one, "clusters");
      features.multicast = optional_of<bool>(one, "nvls_multicast");
      features.shared_memory_kb = optional_of<int>(one, "smem_per_sm_kb");
      features.note = text_of(one, "note");
      features.sources = texts_of(one, "sources");
      made.push_back(std::move(features));
    }
    return made;
  }();
  for (const GpuFeatures& one : all)
    if (std::ranges::find(one.capabilities, capability) != one.capabilities.end())
      return &one;
  return nullptr;
}

const std::vector<PcieGeneration>& pcie_generations() {
  static const std::vector<PcieGeneration> all = [] {
    std::vector<PcieGeneration> made;
    for (const auto& one : section("gpus", "pcie_generations"))
      made.push_back({one.at("gen"), one.at("gt_per_s"),
                      one.at("theoretical_gbps_x16_per_dir").get<double>() / 16,
                      one.at("nccl_planning_gbps_x16")});
    return made;
  }();
  return all;
}

std::optional<double> pcie_gb_per_s(int generation, int width) {
  for (const PcieGeneration& one : pcie_generations())
    if (one.generation == generation && width > 0)
      return one.lane_gb_per_s * width;
  return std::nullopt;
}

const std::vector<NvlinkGeneration>& nvlink_generations() {
  static const std::vector<NvlinkGeneration> all = [] {
    std::vector<NvlinkGeneration> made;
    for (const auto& one : section("gpus", "nvlink_generations"))
      made.push_back({text_of(one, "generation"), optional_of<double>(one, "link_gbps_per_dir"),
                      optional_of<int>(one, "links_max_per_gpu"),
                      optional_of<double>(one, "gpu_gbps_per_dir"),
                      optional_of<double>(one, "nccl_planning_gbps_per_link"),
                      texts_of(one, "example_gpus"), text_of(one, "note")});
    return made;
  }();
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
