// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_models.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

#include <algorithm>
#include <cctype>

namespace ncclprobe::knowledge {
namespace {

GpuModel model_of(const nlohmann::json& one) {
  GpuModel model;
  model.name = text_of(one, "name");
  model.capability =
      base::value_or_throw(parse_compute_capability(text_of(one, "compute_capability")));
  model.architecture = text_of(one, "architecture");
  model.memory_gb = optional_of<double>(one, "memory_gb");
  model.memory_type = text_of(one, "memory_type");
  model.memory_gb_per_s = optional_of<double>(one, "memory_bandwidth_gbps");
  model.pcie_generation = optional_of<int>(one, "pcie_gen");
  model.pcie_width = optional_of<int>(one, "pcie_width");
  model.pcie_gb_per_s = optional_of<double>(one, "pcie_gbps_per_dir_theoretical");
  if (auto link = optional_of<nlohmann::json>(one, "nvlink"))
    model.nvlink = NvlinkFacts{link->at("present").get<bool>(),
                               text_of(*link, "generation"),
                               optional_of<int>(*link, "links"),
                               optional_of<double>(*link, "gbps_per_dir"),
                               optional_of<double>(*link, "gbps_total_both_dirs"),
                               text_of(*link, "via")};
  if (auto link = optional_of<nlohmann::json>(one, "host_link")) {
    model.host_link = text_of(*link, "type");
    model.host_link_gb_per_s = optional_of<double>(*link, "gbps_per_dir");
  }
  model.power_w = optional_of<double>(one, "tdp_w");
  model.form_factor = text_of(one, "form_factor");
  model.pci_device_ids = texts_of(one, "pci_device_ids");
  model.note = text_of(one, "note");
  model.sources = texts_of(one, "sources");
  return model;
}

// Words of a name in lower case, letters and digits apart as people write them either way:
// "A100-SXM4-80GB" -> a100 sxm 80gb. What every name may have says nothing and is left out.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  auto finish = [&] {
    if (word.starts_with("sxm"))
      word = "sxm";
    for (std::string_view empty :
         {"nvidia", "tesla", "geforce", "gpu", "edition", "graphics", "ac"})
      if (word == empty)
        word.clear();
    if (!word.empty())
      words.push_back(word);
    word.clear();
  };
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      finish();
  finish();
  // "RTX4090" and "RTX 4090", "80 GB" and "80GB".
  std::vector<std::string> split;
  for (const std::string& one : words) {
    bool joined_brand = one.size() > 3 && (one.starts_with("rtx") || one.starts_with("gtx"));
    if (joined_brand && std::isdigit(static_cast<unsigned char>(one[3]))) {
      split.push_back(one.substr(0, 3));
      split.push_back(one.substr(3));
    } else if (one == "gb" && !split.empty() &&
               std::isdigit(static_cast<unsigned char>(split.back()[0])))
      split.back() += one;
    else
      split.push_back(one);
  }
  return split;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A word that tells cards of one family apart. A driver names the H100 SXM "H100 80GB HBM3", and
// its memory sizes are not those of the data sheets; neither must keep a model from being found.
bool is_detail(const std::string& word) {
  return word.ends_with("gb") || word.starts_with("hbm") || word.starts_with("gddr");
}

// Higher is better; nothing: another model.
std::optional<int> likeness(const std::vector<std::string>& asked,
                            const std::vector<std::string>& model) {
  int score = 0;
  for (const std::string& word : asked)
    if (has(model, word))
      score += 10;
    else if (!is_detail(word))
      return std::nullopt;
    else
      score -= 1;
  for (const std::string& word : model)
    if (!has(asked, word))
      score -= is_detail(word) ? 1 : 2;
  return score;
}

} // namespace

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> all = [] {
    std::vector<GpuModel> made;
    for (const auto& one : section("gpus", "models"))
      made.push_back(model_of(one));
    return made;
  }();
  return all;
}

std::vector<const GpuModel*> find_gpu_models(std::string_view name) {
  auto asked = words_of(name);
  // What a driver calls a model without the words of the data sheet.
  if (has(asked, "h100") && has(asked, "hbm3") && !has(asked, "nvl"))
    asked.push_back("sxm");
  bool names_a_model = std::any_of(asked.begin(), asked.end(),
                                   [](const std::string& word) { return !is_detail(word); });
  std::vector<std::pair<int, const GpuModel*>> scored;
  for (const GpuModel& one : gpu_models())
    if (auto score = likeness(asked, words_of(one.name)); names_a_model && score)
      scored.emplace_back(*score, &one);
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const GpuModel*> found;
  // A name that has all words of one model and no others means that one.
  for (const auto& [score, model] : scored)
    if (score == static_cast<int>(10 * asked.size()) || found.empty() ||
        scored.front().first < static_cast<int>(10 * asked.size()))
      found.push_back(model);
  return found;
}

const GpuModel* gpu_model_of_device(std::string_view pci_device_id) {
  if (pci_device_id.starts_with("0x") || pci_device_id.starts_with("0X"))
    pci_device_id.remove_prefix(2);
  std::string id(pci_device_id.substr(0, 4));
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const GpuModel& one : gpu_models())
    if (has(one.pci_device_ids, id))
      return &one;
  return nullptr;
}

const GpuFeatures* gpu_features(const ComputeCapability& capability) {
  static const std::vector<GpuFeatures> all = [] {
    std::vector<GpuFeatures> made;
    for (const auto& one : section("gpus", "features")) {
      GpuFeatures features;
      for (const std::string& text : texts_of(one, "capabilities"))
        features.capabilities.push_back(base::value_or_throw(parse_compute_capability(text)));
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
    if (std::find(one.capabilities.begin(), one.capabilities.end(), capability) !=
        one.capabilities.end())
      return &one;
  return nullptr;
}

const std::vector<PcieGeneration>& pcie_generations() {
  static const std::vector<PcieGeneration> all = [] {
    std::vector<PcieGeneration> made;
    for (const auto& one : section("gpus", "pcie_generations"))
      made.push_back({one.at("gen"), one.at("gt_per_s"),
                      one.at("theoretical_gbps_per_lane_per_dir"),
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
