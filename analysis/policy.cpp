// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/policy.h"

#include "analysis/report/text_layout.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

namespace ncclprobe::analysis {
namespace {

using knowledge::GpuModel;

Known known(bool met) {
  return met ? Known::yes : Known::no;
}

std::string_view word(Known met) {
  return met == Known::yes ? "yes" : met == Known::no ? "no" : "unknown";
}

// What all models that the GPU can be have in common; nothing if they differ, or one is not known.
std::optional<double> common(const GpuInQuestion& gpu,
                             const std::function<std::optional<double>(const GpuModel&)>& ask) {
  std::optional<double> value;
  for (const GpuModel* model : gpu.models) {
    auto one = ask(*model);
    if (!one || (value && *value != *one))
      return std::nullopt;
    value = one;
  }
  return value;
}

std::optional<bool> has_nvlink(const GpuInQuestion& gpu) {
  if (gpu.nvlinks)
    return *gpu.nvlinks > 0;
  auto found = common(gpu, [](const GpuModel& model) {
    return model.nvlink ? std::optional<double>(model.nvlink->present) : std::nullopt;
  });
  return found ? std::optional(*found > 0) : std::nullopt;
}

// Of the link that carries traffic between GPUs: of NVLinks those that were seen to be up.
std::optional<double> link_gb_per_s(const GpuInQuestion& gpu) {
  if (gpu.nvlinks && *gpu.nvlinks > 0) {
    auto link = knowledge::nvlink_gb_per_s(gpu.capability);
    return link ? std::optional(*link * *gpu.nvlinks) : std::nullopt;
  }
  auto nvlink = has_nvlink(gpu);
  if (!nvlink)
    return std::nullopt;
  return common(gpu, [&](const GpuModel& model) {
    return *nvlink && model.nvlink ? model.nvlink->gb_per_s : model.pcie_gb_per_s;
  });
}

std::optional<bool> has_feature(const knowledge::GpuFeatures& features, const std::string& name) {
  return name == "tf32"        ? features.tf32
         : name == "bf16"      ? features.bf16_ops
         : name == "fp8"       ? features.fp8
         : name == "fp4"       ? features.fp4
         : name == "tma"       ? features.tma
         : name == "multicast" ? features.multicast
                               : std::nullopt;
}

PolicyRule rule_of(const std::string& what, const std::string& asked,
                   const std::optional<double>& found, std::string_view unit,
                   const std::function<bool(double)>& suffices) {
  return {what, asked, found ? fmt::format("{:.4g}{}", *found, unit) : "unknown",
          found ? known(suffices(*found)) : Known::unknown};
}

PolicyRule memory_rule(double least_gb, const NodeInQuestion& node, const GpuInQuestion& gpu) {
  std::optional<double> memory_gb =
      gpu.memory_gb ? gpu.memory_gb
                    : common(gpu, [](const GpuModel& one) { return one.memory_gb; });
  if (!memory_gb || !node.nccl)
    return rule_of("memory", fmt::format("at least {:g} GB", least_gb), memory_gb,
                   gpu.memory_gb ? " GB, NCCL's share not measured" : " GB as published",
                   [&](double gb) { return gb >= least_gb; });
  const double left_gb = *memory_gb - node.nccl->gb;
  return {
      "memory", fmt::format("at least {:g} GB", least_gb),
      fmt::format("{:.4g} GB: {:.4g} less {:.3g} for connecting {} ranks with NCCL, as measured; "
                  "more comes with the first collectives",
                  left_gb, *memory_gb, node.nccl->gb, node.nccl->ranks),
      known(left_gb >= least_gb)};
}

PolicyRule interconnect_rule(LinkKind asked, const GpuInQuestion& gpu) {
  auto nvlink = has_nvlink(gpu);
  std::string found = !nvlink ? "unknown" : !*nvlink ? "PCIe" : "NVLink";
  if (gpu.nvlinks && *gpu.nvlinks > 0)
    found = count_of(static_cast<std::size_t>(*gpu.nvlinks), "NVLink", "NVLinks") + " up";
  return {"interconnect", asked == LinkKind::nvlink ? "NVLink" : "PCIe or better", found,
          asked == LinkKind::pcie ? Known::yes
          : nvlink                ? known(*nvlink)
                                  : Known::unknown};
}

void add_features(const Policy& policy, const GpuInQuestion& gpu, PolicyPart& part) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  for (const std::string& name : policy.features) {
    auto has = features == nullptr ? std::nullopt : has_feature(*features, name);
    part.rules.push_back({name, "required", has ? (*has ? "there" : "missing") : "unknown",
                          has ? known(*has) : Known::unknown});
  }
}

PolicyPart judge_gpu(const Policy& policy, const NodeInQuestion& node, const GpuInQuestion& gpu,
                     const Prices& prices) {
  PolicyPart part{gpus_text(gpu), {}};
  auto add = [&](PolicyRule rule) { part.rules.push_back(std::move(rule)); };
  if (const auto& least = policy.min_compute_capability)
    add({"compute capability", "at least " + least->text(), gpu.capability.text(),
         known(knowledge::VersionNumber{{gpu.capability.major, gpu.capability.minor}} >= *least)});
  if (policy.min_memory_gb)
    add(memory_rule(*policy.min_memory_gb, node, gpu));
  if (policy.interconnect)
    add(interconnect_rule(*policy.interconnect, gpu));
  if (const auto& least = policy.min_link_gb_per_s)
    add(rule_of("link between GPUs", fmt::format("at least {:g} GB/s", *least), link_gb_per_s(gpu),
                " GB/s in one direction", [&](double found) { return found >= *least; }));
  add_features(policy, gpu, part);
  if (const auto& most = policy.max_power_w)
    add(rule_of("power", fmt::format("at most {:g} W", *most),
                common(gpu, [](const GpuModel& one) { return one.power_w; }), " W as published",
                [&](double found) { return found <= *most; }));
  if (const auto& most = policy.max_price) {
    auto price = price_of(gpu.name, gpu.models, prices);
    add(rule_of("price", fmt::format("at most {:g}", *most), price, " as given",
                [&](double found) { return found <= *most; }));
  }
  return part;
}

PolicyPart judge_whole(const Policy& policy, const NodeInQuestion& node) {
  PolicyPart part;
  int gpus = 0;
  for (const GpuInQuestion& gpu : node.gpus)
    gpus += gpu.count;
  if (policy.min_gpus)
    part.rules.push_back({"GPUs", fmt::format("at least {}", *policy.min_gpus),
                          node.is_named ? "unknown: no node was looked at" : std::to_string(gpus),
                          node.is_named ? Known::unknown : known(gpus >= *policy.min_gpus)});
  if (policy.same_gpus.value_or(false) && node.is_named)
    part.rules.push_back({"models", "one", "unknown: no node was looked at", Known::unknown});
  else if (policy.same_gpus.value_or(false)) {
    bool same = std::all_of(node.gpus.begin(), node.gpus.end(), [&](const GpuInQuestion& gpu) {
      return gpu.name == node.gpus.front().name;
    });
    part.rules.push_back({"models", "one", same ? "one" : "several", known(same)});
  }
  if (const auto& least = policy.min_driver_cuda) {
    const auto& found = node.software.driver_cuda;
    part.rules.push_back({"driver", "knows CUDA " + least->text(),
                          found ? "knows CUDA " + found->text() : "unknown",
                          found ? known(*found >= *least) : Known::unknown});
  }
  return part;
}

std::string verdict_text(Known suits) {
  return suits == Known::yes  ? "suits"
         : suits == Known::no ? "does not suit"
                              : "unknown: not all that it asks for is known";
}

} // namespace

const std::vector<std::string>& policy_features() {
  static const std::vector<std::string> names{"tf32", "bf16", "fp8", "fp4", "tma", "multicast"};
  return names;
}

PolicyVerdict judge(const Policy& policy, const NodeInQuestion& node, const Prices& prices) {
  PolicyVerdict verdict{node.name, Known::yes, {}};
  for (const GpuInQuestion& gpu : node.gpus)
    verdict.parts.push_back(judge_gpu(policy, node, gpu, prices));
  if (PolicyPart whole = judge_whole(policy, node); !whole.rules.empty())
    verdict.parts.push_back(std::move(whole));
  for (const PolicyPart& part : verdict.parts)
    for (const PolicyRule& rule : part.rules)
      if (rule.met == Known::no)
        verdict.suits = Known::no;
      else if (rule.met == Known::unknown && verdict.suits == Known::yes)
        verdict.suits = Known::unknown;
  return verdict;
}

Known worst(const std::vector<PolicyVerdict>& verdicts) {
  Known worst = Known::yes;
  for (const PolicyVerdict& one : verdicts)
    if (one.suits == Known::no || (one.suits == Known::unknown && worst == Known::yes))
      worst = one.suits;
  return worst;
}

std::string render_policy(const Policy& policy, const std::vector<PolicyVerdict>& verdicts) {
  std::string out =
      fmt::format("Policy{}\n", policy.name.empty() ? "" : ": " + printable(policy.name));
  for (const PolicyVerdict& verdict : verdicts) {
    out += paragraph(
        "", fmt::format("{}: {}", printable(verdict.node), verdict_text(verdict.suits)), 2);
    for (const PolicyPart& part : verdict.parts) {
      if (!part.name.empty() && part.name != verdict.node)
        out += fmt::format("    {}\n", printable(part.name));
      for (const PolicyRule& rule : part.rules)
        out += paragraph(fmt::format("      {}", rule.met == Known::no ? "NO" : word(rule.met)),
                         fmt::format("{} {}: {}", rule.what, rule.asked, rule.found), 15);
    }
  }
  return out;
}

nlohmann::json policy_json(const Policy& policy, const std::vector<PolicyVerdict>& verdicts) {
  nlohmann::json out{
      {"name", policy.name}, {"suits", word(worst(verdicts))}, {"nodes", nlohmann::json::array()}};
  for (const PolicyVerdict& verdict : verdicts) {
    nlohmann::json node{
        {"node", verdict.node}, {"suits", word(verdict.suits)}, {"parts", nlohmann::json::array()}};
    for (const PolicyPart& part : verdict.parts) {
      nlohmann::json one{{"gpus", part.name}, {"rules", nlohmann::json::array()}};
      for (const PolicyRule& rule : part.rules)
        one["rules"].push_back({{"what", rule.what},
                                {"asked", rule.asked},
                                {"found", rule.found},
                                {"met", word(rule.met)}});
      node["parts"].push_back(std::move(one));
    }
    out["nodes"].push_back(std::move(node));
  }
  return out;
}

} // namespace ncclprobe::analysis
