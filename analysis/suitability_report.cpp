// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/normality.h"
#include "analysis/report/text_layout.h"
#include "analysis/suitability.h"
#include "knowledge/document.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::GpuModel;

constexpr int k_hang = 15;

std::string_view word(Known known) {
  return known == Known::yes ? "yes" : known == Known::no ? "no" : "unknown";
}

std::string word(std::optional<bool> known) {
  return !known ? "unknown" : *known ? "yes" : "no";
}

std::string number(std::optional<double> value, std::string_view unit) {
  return value ? fmt::format("{:g} {}", *value, unit) : "unknown";
}

std::string version(const std::optional<knowledge::VersionNumber>& value) {
  return value ? value->text() : "unknown";
}

// The models' common value; several values are all said.
template <typename Say>
std::string over_models(const GpuInQuestion& gpu, Say say) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_text;
  for (const GpuModel* model : gpu.models) {
    std::string text = say(*model);
    auto found = std::find_if(by_text.begin(), by_text.end(),
                              [&](const auto& one) { return one.first == text; });
    if (found == by_text.end())
      by_text.push_back({text, {model->name}});
    else
      found->second.push_back(model->name);
  }
  if (by_text.empty())
    return "unknown: not in the tables";
  if (by_text.size() == 1)
    return by_text.front().first;
  std::vector<std::string> parts;
  for (const auto& [text, names] : by_text)
    parts.push_back(fmt::format("{} ({})", text, join(names, ", ")));
  return join(parts, "; ");
}

std::string capability_text(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  std::string text = fmt::format("{} ({})", gpu.capability.text(), gpu.capability.sm());
  if (auto architecture = knowledge::support_horizon(gpu.capability).architecture;
      !architecture.empty())
    text += ", " + architecture;
  if (features == nullptr)
    return text + "; what it brings is not in the tables";
  text += features->tensor_types.empty()
              ? "; no tensor cores"
              : fmt::format("; tensor cores for {}", join(features->tensor_types, ", "));
  return text;
}

std::string unlocks_text(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  if (features == nullptr)
    return "unknown";
  // Transformer Engine is software for FP8 tensor cores: it needs what "FP8" says.
  return fmt::format("TF32 {}, BF16 {}, FP8 and with it Transformer Engine {}, FP4 {}, TMA {}, "
                     "multicast instructions (NVLS) {}",
                     word(features->tf32), word(features->bf16_ops), word(features->fp8),
                     word(features->fp4               ? features->fp4
                          : gpu.capability.major < 10 ? std::optional(false)
                                                      : std::nullopt),
                     word(features->tma), word(features->multicast));
}

std::string nvlink_text(const GpuModel& model) {
  if (!model.nvlink)
    return "NVLink unknown";
  if (!model.nvlink->present)
    return "no NVLink";
  return fmt::format("NVLink {}: {} in one direction ({} in vendors' sum of both), {}{}",
                     model.nvlink->generation, number(model.nvlink->gb_per_s, "GB/s"),
                     number(model.nvlink->total_gb_per_s, "GB/s"),
                     model.nvlink->links ? fmt::format("{} links, ", *model.nvlink->links) : "",
                     model.nvlink->via);
}

std::string pcie_text(const GpuModel& model) {
  if (!model.pcie_generation)
    return "PCIe generation unknown";
  if (!model.pcie_width)
    return fmt::format("PCIe {}, width unknown", *model.pcie_generation);
  return fmt::format("PCIe {} x{}, {} in one direction", *model.pcie_generation, *model.pcie_width,
                     number(model.pcie_gb_per_s, "GB/s"));
}

// The link that carries traffic between GPUs.
std::optional<double> link_gb_per_s(const GpuModel& model) {
  if (model.nvlink && model.nvlink->present)
    return model.nvlink->gb_per_s;
  if (model.nvlink)
    return model.pcie_gb_per_s;
  return std::nullopt;
}

NodeLinks links_of(const GpuModel& model) {
  NodeLinks links;
  links.gpu = model.name;
  if (model.nvlink)
    links.nvlink_gb_per_s = model.nvlink->present ? model.nvlink->gb_per_s : 0;
  links.pcie_gb_per_s = model.pcie_gb_per_s;
  return links;
}

std::string price_text(const GpuInQuestion& gpu, double price) {
  std::string text = fmt::format("{:g} a unit (as given)", price);
  if (gpu.models.empty())
    return text;
  const GpuModel& model = *gpu.models.front();
  auto per = [&](std::optional<double> value, std::string_view of) {
    return value && *value > 0 ? fmt::format("{:.4g} per {}", price / *value, of)
                               : fmt::format("per {} unknown", of);
  };
  return text + "; " + per(model.memory_gb, "GB of memory") + ", " +
         per(model.memory_gb_per_s, "GB/s of memory") + ", " +
         per(link_gb_per_s(model), "GB/s between GPUs");
}

std::string cuda_text(const knowledge::SupportHorizon& horizon) {
  return fmt::format("compiles for it from CUDA {} {}; driver branch {} or newer",
                     version(horizon.first_cuda),
                     horizon.last_cuda ? "up to " + horizon.last_cuda->text()
                                       : "on, not dropped as far as the tables know",
                     horizon.first_driver ? "r" + horizon.first_driver->text() : "unknown");
}

std::string pytorch_text(const knowledge::SupportHorizon& horizon) {
  if (horizon.first_wheel == nullptr)
    return "no wheel in the tables has code for it";
  std::string text = fmt::format("wheels with its code from {} to {} (newest in the tables)",
                                 horizon.first_wheel->name(), horizon.last_wheel->name());
  if (!horizon.newest_without.empty())
    text += fmt::format("; not in the newest release's {}", join(horizon.newest_without, ", "));
  return text;
}

std::vector<std::string> source_keys(const GpuInQuestion& gpu) {
  std::vector<std::string> keys;
  for (const GpuModel* model : gpu.models)
    for (const std::string& key : model->sources)
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  return keys;
}

std::string chains_text(const GpuInQuestion& gpu, const SoftwareInQuestion& software) {
  std::string out;
  for (const ChainVerdict& verdict : judge_chains(gpu, software)) {
    std::vector<std::string> links;
    for (std::size_t i = 0; i < verdict.links.size(); ++i)
      links.push_back(fmt::format("{} [{}]", verdict.chain->links[i].text, word(verdict.links[i])));
    out += paragraph(
        out.empty() ? "Features" : "",
        fmt::format("{}: {}: {}", verdict.chain->feature, word(verdict.all), join(links, ", ")),
        k_hang);
  }
  return out;
}

nlohmann::json number_json(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json model_json(const GpuModel& model) {
  nlohmann::json json{{"name", model.name},
                      {"memory_gb", number_json(model.memory_gb)},
                      {"memory_gb_per_s", number_json(model.memory_gb_per_s)},
                      {"pcie_gb_per_s", number_json(model.pcie_gb_per_s)},
                      {"nvlink", nullptr},
                      {"power_w", number_json(model.power_w)},
                      {"form_factor", model.form_factor},
                      {"note", model.note}};
  if (model.nvlink)
    json["nvlink"] = {{"present", model.nvlink->present},
                      {"generation", model.nvlink->generation},
                      {"gb_per_s", number_json(model.nvlink->gb_per_s)},
                      {"via", model.nvlink->via}};
  for (const std::string& key : model.sources)
    json["sources"].push_back(knowledge::source_text(key));
  return json;
}

nlohmann::json gpu_json(const GpuInQuestion& gpu, const SoftwareInQuestion& software,
                        const Prices& prices) {
  knowledge::SupportHorizon horizon = knowledge::support_horizon(gpu.capability);
  nlohmann::json json{{"name", printable(gpu.name)},
                      {"count", gpu.count},
                      {"compute_capability", gpu.capability.text()},
                      {"suited", base::to_string(suitability(gpu.capability).grade)},
                      {"suited_because", suitability(gpu.capability).reasons},
                      {"architecture", horizon.architecture},
                      {"first_cuda", version(horizon.first_cuda)},
                      {"last_cuda", nullptr},
                      {"first_driver_branch", version(horizon.first_driver)},
                      {"price", number_json(price_of(gpu.name, gpu.models, prices))}};
  if (horizon.last_cuda)
    json["last_cuda"] = horizon.last_cuda->text();
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
                        {"multicast", word(features->multicast)}};
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

std::string explain_gpu(const GpuInQuestion& gpu, const SoftwareInQuestion& software,
                        const Prices& prices) {
  std::string title = printable(gpu.name);
  if (gpu.count > 1)
    title = fmt::format("{} x {}", gpu.count, title);
  std::vector<std::string> names;
  for (const GpuModel* model : gpu.models)
    names.push_back(model->name);
  std::string out =
      paragraph("GPU",
                names.empty() ? title + ", a model that the tables do not know"
                : names.size() == 1 && names.front() == title ? title
                : names.size() == 1 ? fmt::format("{} ({})", title, names.front())
                                    : fmt::format("{}, which can be {}", title, join(names, ", ")),
                k_hang);
  const Suitability suited = suitability(gpu.capability);
  out += paragraph("Suited",
                   fmt::format("{}: {}", base::to_string(suited.grade), join(suited.reasons, "; ")),
                   k_hang);
  out += paragraph("Capability", capability_text(gpu), k_hang);
  out += paragraph("", unlocks_text(gpu), k_hang);
  std::string seen = gpu.memory_gb ? fmt::format("{:.1f} GB seen; ", *gpu.memory_gb) : "";
  out += paragraph("Memory",
                   seen + over_models(gpu,
                                      [](const GpuModel& model) {
                                        return fmt::format("{}, {}", number(model.memory_gb, "GB"),
                                                           number(model.memory_gb_per_s, "GB/s"));
                                      }),
                   k_hang);
  std::string links =
      gpu.nvlinks ? fmt::format("{} active seen; ", count_of(static_cast<std::size_t>(*gpu.nvlinks),
                                                             "NVLink", "NVLinks"))
                  : "";
  out += paragraph("Interconnect",
                   links + over_models(gpu,
                                       [](const GpuModel& model) {
                                         return nvlink_text(model) + "; " + pcie_text(model);
                                       }),
                   k_hang);
  out +=
      paragraph("Power and form",
                over_models(gpu,
                            [](const GpuModel& model) {
                              return fmt::format("{}, {}", number(model.power_w, "W"),
                                                 model.form_factor.empty() ? "form factor unknown"
                                                                           : model.form_factor);
                            }),
                k_hang);
  auto price = price_of(gpu.name, gpu.models, prices);
  out +=
      paragraph("Price", price ? price_text(gpu, *price) : "not given (--price GPU=VALUE)", k_hang);
  knowledge::SupportHorizon horizon = knowledge::support_horizon(gpu.capability);
  out += paragraph("CUDA", cuda_text(horizon), k_hang);
  out += paragraph("PyTorch", pytorch_text(horizon), k_hang);
  out += chains_text(gpu, software);
  if (gpu.models.size() == 1) {
    std::string reasons;
    for (const std::string& one : why_no_speed_up(links_of(*gpu.models.front())))
      reasons += paragraph(reasons.empty() ? "Bad scaling" : "", one, k_hang);
    out += reasons;
    if (!gpu.models.front()->note.empty())
      out += paragraph("Note", gpu.models.front()->note, k_hang);
  }
  std::string from;
  for (const std::string& key : source_keys(gpu)) // an address is of no use in parts
    from += fmt::format("{:<{}}{}\n", from.empty() ? "Sources" : "", k_hang,
                        knowledge::source_text(key));
  return out + from + paragraph("Tables of", knowledge::tables_are_of(), k_hang);
}

std::string explain_gpus_json(const std::vector<GpuWithSoftware>& gpus, const Prices& prices,
                              const nlohmann::json& more) {
  nlohmann::json json{{"schema", "ncclprobe.gpu_explanation/1"},
                      {"tables_date", knowledge::tables_date()},
                      {"gpus", nlohmann::json::array()}};
  for (const GpuWithSoftware& one : gpus)
    json["gpus"].push_back(gpu_json(one.gpu, one.software, prices));
  json.update(more);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
