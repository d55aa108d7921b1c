// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/reference/reference_range.h"
#include "analysis/suitability/suitability.h"
#include "analysis/suitability/suitability_words.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "knowledge/document.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::GpuModel;

std::string number(std::optional<double> value, std::string_view unit) {
  return value ? fmt::format("{:g} {}", *value, unit) : "unknown";
}

// The models' common value; if they differ, all values.
template <typename Say>
std::string over_models(const GpuInQuestion& gpu, Say say) {
  constexpr std::size_t k_most = 6; // a capability has dozens of models
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
  if (gpu.models.size() > k_most)
    return "depends on the model (docs/gpus.md)";
  std::vector<std::string> parts;
  for (const auto& [text, names] : by_text)
    parts.push_back(fmt::format("{} ({})", text, base::join(names, ", ")));
  return base::join(parts, "; ");
}

std::string capability_text(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  std::string text = fmt::format("{} ({})", gpu.capability.text(), gpu.capability.sm());
  if (auto architecture = knowledge::support_horizon(gpu.capability).architecture;
      !architecture.empty())
    text += ", " + architecture;
  if (features == nullptr)
    return text + "; its features are not in the tables";
  text += features->tensor_types.empty()
              ? "; no tensor cores"
              : fmt::format("; tensor cores for {}", base::join(features->tensor_types, ", "));
  if (std::ranges::any_of(
          gpu.models, [](const GpuModel* model) { return !model->tensor_tflops.text().empty(); }))
    text += "; without sparsity at most " + over_models(gpu, [](const GpuModel& model) {
              const std::string rates = model.tensor_tflops.text();
              return rates.empty() ? "unknown" : rates;
            });
  return text;
}

std::string unlocks_text(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  if (features == nullptr)
    return "unknown";
  // Transformer Engine is software for FP8 tensor cores: it needs what "FP8" says.
  return fmt::format("TF32 {}, BF16 {}, FP8 (and Transformer Engine) {}, FP4 {}, TMA {}, "
                     "multicast instructions (NVLS) {}",
                     word(features->tf32), word(features->bf16_ops), word(features->fp8),
                     word(features->fp4               ? features->fp4
                          : gpu.capability.major < 10 ? std::optional(false)
                                                      : std::nullopt),
                     word(features->tma), word(multicast_of(gpu, *features)));
}

std::string nvlink_text(const GpuModel& model) {
  if (!model.nvlink)
    return "NVLink unknown";
  if (!model.nvlink->present)
    return "no NVLink";
  const knowledge::NvlinkFacts& link = *model.nvlink;
  const std::string rate = fmt::format(
      "{} in one direction ({} in vendors' sum of both){}", number(link.gb_per_s, "GB/s"),
      number(link.total_gb_per_s(), "GB/s"),
      link.links ? ", " + base::count_of(static_cast<std::size_t>(*link.links), "link", "links")
                 : "");
  if (link.bridged_gpus)
    return fmt::format("NVLink {} between {} bridged GPUs, if a bridge is installed: {}",
                       link.generation, bridged_text(*link.bridged_gpus), rate);
  return fmt::format("NVLink {}: {}, {}", link.generation, rate, link.via);
}

std::string pcie_text(const GpuModel& model) {
  if (!model.on_pcie)
    return model.host_link.empty()
               ? "no PCIe: it is one chip with its CPU"
               : fmt::format("{} to its CPU, {} in one direction", model.host_link,
                             number(model.host_link_gb_per_s, "GB/s"));
  if (!model.pcie_generation)
    return "PCIe generation unknown";
  if (!model.pcie_width)
    return fmt::format("PCIe {}, width unknown", *model.pcie_generation);
  return fmt::format("PCIe {} x{}, {} in one direction", *model.pcie_generation, *model.pcie_width,
                     number(model.pcie_gb_per_s, "GB/s"));
}

// The link between GPUs.
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
  // A bridge is optional: without one, PCIe connects the GPUs.
  const bool bridged = model.nvlink && model.nvlink->bridged_gpus;
  if (model.nvlink && !bridged)
    links.nvlink_gb_per_s = model.nvlink->present ? model.nvlink->gb_per_s : 0;
  links.pcie_gb_per_s = model.pcie_gb_per_s;
  return links;
}

std::string price_text(const GpuInQuestion& gpu, double price) {
  std::string text = fmt::format("{:g} per GPU (as given)", price);
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
  std::string text =
      fmt::format("compiles for it from CUDA {} {}; ", version_text(horizon.first_cuda),
                  horizon.last_cuda ? "up to " + horizon.last_cuda->text()
                                    : "on; the tables know no end of support");
  const std::string first = horizon.first_driver ? "r" + horizon.first_driver->text() : "unknown";
  if (horizon.last_driver)
    return text + fmt::format("driver branches {} to r{}, the last that supports it", first,
                              horizon.last_driver->text());
  return text + fmt::format("driver branch {} or newer", first);
}

std::string wheels_text(const knowledge::SupportHorizon& horizon, std::string_view wheels) {
  if (horizon.first_wheel == nullptr)
    return fmt::format("none of the {} in the tables has code for it", wheels);
  std::string text = fmt::format("{} with code for it from {} to {} (the newest in the tables)",
                                 wheels, horizon.first_wheel->name(), horizon.last_wheel->name());
  if (!horizon.newest_without.empty())
    text +=
        fmt::format("; not in {} of the newest release", base::join(horizon.newest_without, ", "));
  return text;
}

std::string pytorch_text(const GpuInQuestion& gpu) {
  using knowledge::CpuKind;
  if (needs_jetpack(gpu))
    return "wheels for it come with NVIDIA's JetPack; PyTorch's wheels for Arm are for servers";
  const knowledge::CpuKind cpu = cpu_of(gpu);
  std::string text = wheels_text(knowledge::support_horizon(gpu.capability, cpu),
                                 cpu == CpuKind::aarch64 ? "wheels for Arm" : "wheels");
  const bool any_arm = std::any_of(gpu.models.begin(), gpu.models.end(),
                                   [](const auto* model) { return model->arm_host; });
  if (any_arm && cpu != CpuKind::aarch64)
    text += "; on an Arm host " +
            wheels_text(knowledge::support_horizon(gpu.capability, CpuKind::aarch64), "wheels");
  return any_arm ? text + fmt::format("; up to {} PyPI's wheels for Arm are built without CUDA, "
                                      "those of download.pytorch.org/whl are not",
                                      knowledge::last_arm_pypi_without_cuda().text())
                 : text;
}

std::string title_of(const GpuInQuestion& gpu) {
  std::string title = base::printable(gpu.name);
  if (gpu.count > 1)
    title = fmt::format("{} x {}", gpu.count, title);
  std::vector<std::string> names, families;
  for (const GpuModel* model : gpu.models) {
    names.push_back(model->name);
    if (families.empty() || families.back() != model->family)
      families.push_back(model->family);
  }
  if (names.empty())
    return title + (gpu.is_capability ? ", for which the tables have no model"
                                      : ", a model that is not in the tables");
  if (gpu.is_capability)
    return fmt::format("{}, the capability of {} models: {}", title, names.size(),
                       base::join(families, "; "));
  if (names.size() > 1)
    return fmt::format("{}, which can be {}", title, base::join(names, ", "));
  return names.front() == title ? title : fmt::format("{} ({})", title, names.front());
}

std::vector<std::string> source_keys(const GpuInQuestion& gpu) {
  std::vector<std::string> keys;
  for (const GpuModel* model : gpu.models)
    for (const std::string& key : model->sources.all())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  return keys;
}

std::vector<std::string> chain_texts(const GpuInQuestion& gpu, const SoftwareInQuestion& software) {
  std::vector<std::string> texts;
  for (const ChainVerdict& verdict : judge_chains(gpu, software)) {
    std::vector<std::string> links;
    for (std::size_t i = 0; i < verdict.links.size(); ++i)
      links.push_back(
          fmt::format("{} [{}]", verdict.chain->links[i].text, base::to_string(verdict.links[i])));
    texts.push_back(fmt::format("{}: {}: {}", verdict.chain->feature, base::to_string(verdict.all),
                                base::join(links, ", ")));
  }
  return texts;
}

std::vector<std::string> fault_texts(const GpuInQuestion& gpu) {
  std::vector<std::string> texts;
  for (const knowledge::KnownBadNccl* one : bad_nccl(gpu))
    texts.push_back(one->text());
  return texts;
}

std::vector<std::string> addresses(const std::vector<std::string>& keys) {
  std::vector<std::string> all;
  for (const std::string& key : keys)
    all.push_back(knowledge::source_text(key));
  return all;
}

Section gpu_section(const GpuInQuestion& gpu, const SoftwareInQuestion& software,
                    const Prices& prices) {
  Section section{"gpu"};
  auto say = [&](const char* label, std::string text) {
    section.add(label, std::move(text), k_answer_hang);
  };
  auto say_each = [&](const char* label, const std::vector<std::string>& texts) {
    section.add_each(label, texts, k_answer_hang);
  };
  say("GPU", title_of(gpu));
  const Suitability suited = suitability(gpu);
  say("Suited",
      fmt::format("{}: {}", base::to_string(suited.grade), base::join(suited.reasons, "; ")));
  const GpuDimensions dimensions = dimensions_of(gpu, price_of(gpu.name, gpu.models, prices));
  say("Capability", dimensions.capability);
  say("", dimensions.unlocks);
  say("Memory", dimensions.memory);
  say("Interconnect", dimensions.interconnect);
  say("Power and form", dimensions.power_and_form);
  say("Price", dimensions.price.empty() ? "not given (--price GPU=VALUE)" : dimensions.price);
  say("CUDA", cuda_text(knowledge::support_horizon(gpu.capability)));
  say("PyTorch", pytorch_text(gpu));
  say_each("Known faults", fault_texts(gpu));
  say_each("Features", chain_texts(gpu, software));
  if (gpu.models.size() == 1) {
    say_each("Bad scaling", why_no_speed_up(links_of(*gpu.models.front())));
    if (!gpu.models.front()->note.empty())
      say("Note", gpu.models.front()->note);
  }
  if (gpu.is_capability)
    say("Sources", "of each model: docs/gpus.md");
  else
    section.add_each("Sources", dimensions.sources, k_answer_hang, true);
  say("Tables of", knowledge::tables_are_of());
  return section;
}

Object model_values(const GpuModel& model) {
  Value nvlink;
  if (model.nvlink)
    nvlink = Object{{"present", model.nvlink->present},
                    {"generation", model.nvlink->generation},
                    {"links", model.nvlink->links},
                    {"gb_per_s", model.nvlink->gb_per_s},
                    {"bridged_gpus", model.nvlink->bridged_gpus},
                    {"via", model.nvlink->via}};
  return {{"name", model.name},
          {"compute_capability", model.capability.text()},
          {"segment", model.segment},
          {"arm_host", model.arm_host},
          {"memory_gb", model.memory_gb},
          {"memory_gb_per_s", model.memory_gb_per_s},
          {"memory_type", model.memory_type},
          {"tensor_tflops", Object{{"bf16", model.tensor_tflops.bf16},
                                   {"f16", model.tensor_tflops.f16},
                                   {"tf32", model.tensor_tflops.tf32}}},
          {"on_pcie", model.on_pcie},
          {"pcie_generation", model.pcie_generation},
          {"pcie_width", model.pcie_width},
          {"pcie_gb_per_s", model.pcie_gb_per_s},
          {"nvlink", std::move(nvlink)},
          {"power_w", model.power_w},
          {"form_factor", model.form_factor},
          {"note", model.note},
          {"sources", Object{{"capability", addresses(model.sources.capability)},
                             {"card", addresses(model.sources.card)},
                             {"nvlink", addresses(model.sources.nvlink)},
                             {"tensor", addresses(model.sources.tensor)}}}};
}

Value feature_values(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  if (features == nullptr)
    return nullptr;
  return Object{{"tensor_types", features->tensor_types},
                {"tf32", word(features->tf32)},
                {"bf16", word(features->bf16_ops)},
                {"fp8", word(features->fp8)},
                {"tma", word(features->tma)},
                {"multicast", word(multicast_of(gpu, *features))}};
}

List chain_values(const GpuWithSoftware& one) {
  List chains;
  for (const ChainVerdict& verdict : judge_chains(one.gpu, one.software)) {
    List links;
    for (std::size_t i = 0; i < verdict.links.size(); ++i)
      links.push_back(
          Object{{"needs", verdict.chain->links[i].text}, {"verdict", verdict.links[i]}});
    chains.push_back(Object{{"feature", verdict.chain->feature},
                            {"verdict", verdict.all},
                            {"links", std::move(links)}});
  }
  return chains;
}

TablePtr gpu_table(const std::vector<GpuWithSoftware>& gpus, const Prices& prices) {
  TableOf<GpuWithSoftware> table(gpus);
  auto add_gpu = [&](const char* key, auto get) {
    return table.add(key, [=](const GpuWithSoftware& one) { return get(one.gpu); });
  };
  auto add_horizon = [&](const char* key, auto get) {
    add_gpu(key, [=](const GpuInQuestion& gpu) {
      return get(knowledge::support_horizon(gpu.capability, cpu_of(gpu)));
    });
  };
  using knowledge::SupportHorizon;
  add_gpu("name", [](const GpuInQuestion& gpu) { return base::printable(gpu.name); });
  add_gpu("count", [](const GpuInQuestion& gpu) { return gpu.count; });
  add_gpu("compute_capability", [](const GpuInQuestion& gpu) { return gpu.capability.text(); });
  add_gpu("suited", [](const GpuInQuestion& gpu) { return suitability(gpu).grade; });
  add_gpu("suited_because", [](const GpuInQuestion& gpu) { return suitability(gpu).reasons; });
  add_horizon("architecture", [](const SupportHorizon& one) { return one.architecture; });
  add_horizon("first_cuda", [](const SupportHorizon& one) { return version_text(one.first_cuda); });
  add_horizon("last_cuda", [](const SupportHorizon& one) { return version_value(one.last_cuda); });
  add_horizon("first_driver_branch",
              [](const SupportHorizon& one) { return version_text(one.first_driver); });
  add_horizon("last_driver_branch",
              [](const SupportHorizon& one) { return version_value(one.last_driver); });
  add_gpu("price",
          [=](const GpuInQuestion& gpu) { return price_of(gpu.name, gpu.models, prices); });
  add_gpu("cpu", [](const GpuInQuestion& gpu) { return cpu_of(gpu); });
  add_gpu("nccl_faults", fault_texts);
  add_horizon("first_pytorch_wheel", [](const SupportHorizon& one) {
    return one.first_wheel ? one.first_wheel->name() : "unknown";
  });
  add_horizon("newest_pytorch_wheel", [](const SupportHorizon& one) {
    return one.last_wheel ? one.last_wheel->name() : "unknown";
  });
  add_gpu("models", [](const GpuInQuestion& gpu) {
    List models;
    for (const GpuModel* model : gpu.models)
      models.push_back(model_values(*model));
    return models;
  }).nested();
  add_gpu("features", feature_values).nested();
  table.add("chains", chain_values).nested();
  return table.table();
}

} // namespace

GpuDimensions dimensions_of(const GpuInQuestion& gpu, const std::optional<double>& price) {
  return {.capability = capability_text(gpu),
          .unlocks = unlocks_text(gpu),
          .memory =
              (gpu.memory_gb ? fmt::format("{:.1f} GiB seen; ", *gpu.memory_gb * 1e9 / (1 << 30))
                             : "") +
              over_models(gpu,
                          [](const GpuModel& model) {
                            return fmt::format("{}, {}", number(model.memory_gb, "GB"),
                                               number(model.memory_gb_per_s, "GB/s"));
                          }),
          .interconnect = (gpu.nvlinks ? base::count_of(static_cast<std::size_t>(*gpu.nvlinks),
                                                        "NVLink", "NVLinks") +
                                             " active seen; "
                                       : "") +
                          over_models(gpu,
                                      [](const GpuModel& model) {
                                        return nvlink_text(model) + "; " + pcie_text(model);
                                      }),
          .power_and_form = over_models(gpu,
                                        [](const GpuModel& model) {
                                          return fmt::format("{}, {}", number(model.power_w, "W"),
                                                             model.form_factor.empty()
                                                                 ? "form factor unknown"
                                                                 : model.form_factor);
                                        }),
          .price = price ? price_text(gpu, *price) : "",
          .sources = addresses(source_keys(gpu))};
}

Report gpu_report(const std::vector<GpuWithSoftware>& gpus, const Prices& prices) {
  Report report;
  for (const GpuWithSoftware& one : gpus)
    report.sections.push_back(gpu_section(one.gpu, one.software, prices));
  report.rows = gpu_table(gpus, prices);
  report.data = {{"schema", "ncclprobe.gpu_explanation"},
                 {"schema_version", 2},
                 {"tables_date", knowledge::tables_date()},
                 {"gpus", report.rows}};
  return report;
}

} // namespace ncclprobe::analysis
