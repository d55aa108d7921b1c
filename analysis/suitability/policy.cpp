// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/policy.h"

#include "analysis/suitability/suitability_words.h"
#include "base/text_layout.h"

#include <algorithm>
#include <functional>

namespace ncclprobe::analysis {
namespace {

using knowledge::GpuModel;

Known known(bool met) {
  return met ? Known::yes : Known::no;
}

// The common value of all models that the GPU can be; nothing if they differ, or one is unknown.
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

// Why it is unknown whether the GPU has NVLink.
std::string unknown_nvlink(const GpuInQuestion& gpu) {
  const bool some_have = std::any_of(gpu.models.begin(), gpu.models.end(), [](const GpuModel* one) {
    return one->nvlink && one->nvlink->present;
  });
  return some_have ? "unknown: only some of its possible models have NVLink"
                   : "unknown: whether it has NVLink is not in the tables";
}

// A chip that shares its CPU's memory (GB10, Jetson): it has no link to another GPU.
constexpr const char* k_unlinked = "neither NVLink nor PCIe to another GPU";
bool is_unlinked(const GpuInQuestion& gpu) {
  return !gpu.models.empty() && has_nvlink(gpu) == false &&
         std::none_of(gpu.models.begin(), gpu.models.end(),
                      [](const GpuModel* one) { return one->on_pcie; });
}

std::optional<double> pcie_gb_per_s(const GpuInQuestion& gpu) {
  return common(gpu, [](const GpuModel& model) { return model.pcie_gb_per_s; });
}

// For NVLinks: the number that were seen up, else the most that a model has.
std::optional<double> nvlink_gb_per_s(const GpuInQuestion& gpu) {
  if (gpu.nvlinks) {
    auto link = knowledge::nvlink_gb_per_s(gpu.capability);
    return link ? std::optional(*link * *gpu.nvlinks) : std::nullopt;
  }
  std::optional<double> most;
  for (const GpuModel* model : gpu.models) {
    if (!model->nvlink || !model->nvlink->gb_per_s)
      return std::nullopt;
    most = std::max(most.value_or(0), *model->nvlink->gb_per_s);
  }
  return most;
}

// NVLink that a GPU has only if a bridge connects it to others.
struct Bridging {
  int gpus = 0;      // GPUs per bridge, at most
  bool seen = false; // links are up: a bridge is installed, but not between all GPUs of the node
  bool all_models = true; // false: other possible models need no bridge
};
std::optional<Bridging> bridging(const GpuInQuestion& gpu) {
  Bridging bridge;
  for (const GpuModel* model : gpu.models) {
    const std::optional<int> gpus = model->nvlink ? model->nvlink->bridged_gpus : std::nullopt;
    bridge.gpus = std::max(bridge.gpus, gpus.value_or(0));
    bridge.all_models = bridge.all_models && gpus;
  }
  // Observed links decide, unless the bridge leaves GPUs out.
  bridge.seen = gpu.nvlinks.has_value();
  if (bridge.gpus == 0 ||
      (bridge.seen && (*gpu.nvlinks == 0 || gpu.count <= bridge.gpus || !bridge.all_models)))
    return std::nullopt;
  return bridge;
}

std::string bridging_text(const Bridging& bridge, const GpuInQuestion& gpu) {
  const auto nvlink = nvlink_gb_per_s(gpu);
  const std::string rate = nvlink ? fmt::format("{:.4g} GB/s", *nvlink) : "an unknown rate";
  const std::string gpus = bridged_text(bridge.gpus);
  if (bridge.seen)
    return fmt::format("{} between bridged GPUs, {} of the {}; PCIe to the others", rate, gpus,
                       gpu.count);
  return fmt::format("up to {} between {} bridged GPUs, if a bridge is installed{}", rate, gpus,
                     bridge.all_models ? "" : " (some of its possible models)");
}

std::optional<bool> has_feature(const GpuInQuestion& gpu, const knowledge::GpuFeatures& features,
                                const std::string& name) {
  return name == "tf32"        ? features.tf32
         : name == "bf16"      ? features.bf16_ops
         : name == "fp8"       ? features.fp8
         : name == "fp4"       ? features.fp4
         : name == "tma"       ? features.tma
         : name == "multicast" ? multicast_of(gpu, features)
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
  return {"memory", fmt::format("at least {:g} GB", least_gb),
          fmt::format("{:.4g} GB: {:.4g} less {:.3g} for connecting {} ranks with NCCL, as "
                      "measured; the first collectives take more",
                      left_gb, *memory_gb, node.nccl->gb, node.nccl->ranks),
          known(left_gb >= least_gb)};
}

PolicyRule interconnect_rule(LinkKind asked, const GpuInQuestion& gpu) {
  const std::string what = asked == LinkKind::nvlink ? "NVLink" : "PCIe or better";
  if (const auto bridge = bridging(gpu))
    return {"interconnect", what, "NVLink " + bridging_text(*bridge, gpu),
            asked == LinkKind::pcie ? Known::yes : Known::unknown};
  const auto nvlink = has_nvlink(gpu);
  std::string found = !nvlink ? unknown_nvlink(gpu) : *nvlink ? "NVLink" : "PCIe";
  if (is_unlinked(gpu))
    found = k_unlinked;
  else if (gpu.nvlinks && *gpu.nvlinks > 0)
    found = base::count_of(static_cast<std::size_t>(*gpu.nvlinks), "NVLink", "NVLinks") + " up";
  return {"interconnect", what, found,
          asked == LinkKind::pcie ? known(!is_unlinked(gpu))
          : nvlink                ? known(*nvlink)
                                  : Known::unknown};
}

// Between GPUs with an optional bridge, PCIe is the minimum and NVLink the maximum. If a bridge
// leaves GPUs of the node out, PCIe connects all.
PolicyRule bridged_rule(const std::string& asked, double least, const Bridging& bridge,
                        const GpuInQuestion& gpu) {
  const auto pcie = pcie_gb_per_s(gpu);
  const auto nvlink = nvlink_gb_per_s(gpu);
  Known met = Known::unknown;
  if (bridge.all_models && pcie && *pcie >= least)
    met = Known::yes;
  else if ((nvlink && *nvlink < least) || (bridge.seen && pcie))
    met = Known::no;
  return {"link between GPUs", asked,
          fmt::format("{}, else {} over PCIe", bridging_text(bridge, gpu),
                      pcie ? fmt::format("{:.4g} GB/s", *pcie) : "an unknown rate"),
          met};
}

bool one_nvlink_rate(const GpuInQuestion& gpu) {
  return common(gpu,
                [](const GpuModel& model) {
                  return model.nvlink ? model.nvlink->gb_per_s : std::nullopt;
                })
      .has_value();
}

PolicyRule link_rule(double least, const GpuInQuestion& gpu) {
  const std::string asked = fmt::format("at least {:g} GB/s", least);
  if (const auto bridge = bridging(gpu))
    return bridged_rule(asked, least, *bridge, gpu);
  if (is_unlinked(gpu))
    return {"link between GPUs", asked, k_unlinked, Known::no};
  const auto nvlink = has_nvlink(gpu);
  if (!nvlink)
    return {"link between GPUs", asked, unknown_nvlink(gpu), Known::unknown};
  std::optional<double> rate;
  if (!*nvlink)
    rate = pcie_gb_per_s(gpu);
  else if (gpu.nvlinks || one_nvlink_rate(gpu))
    rate = nvlink_gb_per_s(gpu);
  return rule_of("link between GPUs", asked, rate, " GB/s in one direction",
                 [&](double found) { return found >= least; });
}

void add_features(const Policy& policy, const GpuInQuestion& gpu, PolicyPart& part) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  for (const std::string& name : policy.features) {
    auto has = features == nullptr ? std::nullopt : has_feature(gpu, *features, name);
    part.rules.push_back({name, "required", has ? (*has ? "present" : "missing") : "unknown",
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
  if (policy.min_link_gb_per_s)
    add(link_rule(*policy.min_link_gb_per_s, gpu));
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
                          node.is_named ? "unknown: no node was examined" : std::to_string(gpus),
                          node.is_named ? Known::unknown : known(gpus >= *policy.min_gpus)});
  if (policy.same_gpus.value_or(false) && node.is_named)
    part.rules.push_back({"models", "one", "unknown: no node was examined", Known::unknown});
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
                              : "unknown: some required data is missing";
}

struct RuleOfNode {
  std::string node;
  std::string gpus;
  PolicyRule rule;
};

TablePtr rule_table(const std::vector<PolicyVerdict>& verdicts) {
  std::vector<RuleOfNode> rows;
  for (const PolicyVerdict& verdict : verdicts)
    for (const PolicyPart& part : verdict.parts)
      for (const PolicyRule& rule : part.rules)
        rows.push_back({verdict.node, part.gpus, rule});
  TableOf<RuleOfNode> table(std::move(rows));
  table.add("node", &RuleOfNode::node);
  table.add("gpus", &RuleOfNode::gpus);
  table.add("what", [](const RuleOfNode& one) { return one.rule.what; });
  table.add("asked", [](const RuleOfNode& one) { return one.rule.asked; });
  table.add("found", [](const RuleOfNode& one) { return one.rule.found; });
  table.add("met", [](const RuleOfNode& one) { return one.rule.met; });
  return table.table();
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

Report policy_report(const Policy& policy, const std::vector<PolicyVerdict>& verdicts) {
  Section section{"policy", "Policy" + (policy.name.empty() ? "" : ": " + policy.name)};
  for (const PolicyVerdict& verdict : verdicts) {
    section.add("", fmt::format("{}: {}", verdict.node, verdict_text(verdict.suits)), 2);
    for (const PolicyPart& part : verdict.parts) {
      if (!part.gpus.empty() && part.gpus != verdict.node)
        section.add("", part.gpus, 4);
      for (const PolicyRule& rule : part.rules)
        section.add(
            fmt::format("      {}", rule.met == Known::no ? "NO" : base::to_string(rule.met)),
            fmt::format("{} {}: {}", rule.what, rule.asked, rule.found), k_answer_hang);
    }
  }
  return {
      .sections = {std::move(section)},
      .data = {{"policy",
                Object{{"name", policy.name}, {"suits", worst(verdicts)}, {"nodes", verdicts}}}},
      .rows = rule_table(verdicts)};
}

} // namespace ncclprobe::analysis
