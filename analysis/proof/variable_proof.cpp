// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/variable_proof.h"

#include "analysis/proof/proof_reasons.h"
#include "base/stored_variables.h"
#include "workload/nccl_names.h"
#include "workload/nccl_selection.h"
#include "workload/nccl_values.h"

#include <algorithm>
#include <array>

namespace ncclprobe::analysis {
namespace {

using namespace std::string_view_literals;
using namespace proof_reason;
using workload::IntegerReading;
using workload::ValueKind;
using workload::Variable;

// Fields of a communicator's configuration that override a variable, under their names in the log.
constexpr std::array k_config_of_variable{
    std::pair{"NCCL_MIN_CTAS"sv, "minCTAs"sv},
    std::pair{"NCCL_MAX_CTAS"sv, "maxCTAs"sv},
    std::pair{"NCCL_CGA_CLUSTER_SIZE"sv, "cgaClusterSize"sv},
    std::pair{"NCCL_CTA_POLICY"sv, "CTAPolicy"sv},
    std::pair{"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE"sv, "nvlinkCentricSched"sv},
    std::pair{"NCCL_NET"sv, "netName"sv},
    std::pair{"NCCL_COLLNET_ENABLE"sv, "collnetEnable"sv},
    std::pair{"NCCL_NCHANNELS_PER_NET_PEER"sv, "nChannelsPerNetPeer"sv},
};

bool reads_integer(const Variable* variable) {
  return variable != nullptr && workload::reads_integer(*variable);
}

bool same_value(const Variable* variable, const std::string& asked, const std::string& told) {
  if (asked == told)
    return true;
  IntegerReading a = workload::read_integer(asked);
  IntegerReading b = workload::read_integer(told);
  return reads_integer(variable) && b.whole && a.value == b.value;
}

std::string config_line(const std::string& name, const NcclLog& log) {
  for (const auto& [variable, field] : k_config_of_variable)
    if (variable == name)
      for (const std::string& line : log.interventions)
        if (line.starts_with("Comm config " + std::string(field)))
          return line;
  return "";
}

std::string plugin_line(const NcclLog& log, std::string_view kind) {
  for (const std::string& line : log.interventions)
    if (line.starts_with(kind))
      return line;
  return "";
}

// The log's evidence about a value that it mentions.
void prove_read(VariableProof& proof, const SettingLine& read, const Variable* variable,
                const NcclLog& log) {
  proof.line = read.line;
  if (!same_value(variable, proof.setting.value, read.value)) {
    std::string plugin = plugin_line(log, "ENV/Plugin");
    proof.effect = Effect::overridden;
    proof.reason = plugin.empty()
                       ? Finding{&k_read_other, {{"value", read.value}}}
                       : Finding{&k_plugin_changed_it, {{"value", read.value}, {"plugin", plugin}}};
    return;
  }
  if (variable != nullptr && workload::acts_on_network(variable->scope) && log.nodes == 1 &&
      !log.used_network) {
    proof.effect = Effect::path_not_taken;
    proof.reason = Finding{&k_no_network};
    return;
  }
  if (variable != nullptr &&
      workload::is_outside(*variable, workload::read_integer(read.value).value)) {
    proof.reason = Finding{&k_outside};
    if (std::string line = config_line(proof.setting.name, log); !line.empty()) {
      proof.effect = Effect::overridden;
      proof.reason = Finding{&k_outside_and_configured};
      proof.line = line;
    }
    return;
  }
  proof.effect = Effect::took_effect;
}

// The log says nothing about it.
void prove_unread(VariableProof& proof, const Variable* variable, const NcclLog& log) {
  const std::string& name = proof.setting.name;
  if (variable == nullptr) {
    workload::NameJudgement judgement = workload::judge_name(name);
    bool gone = judgement.kind == workload::NameKind::not_read;
    proof.effect = gone ? Effect::ignored : Effect::unknown_name;
    proof.reason = judgement.why.empty()
                       ? Finding{&k_no_such_name}
                       : Finding{gone ? &k_not_read : &k_similar_name, {{"why", judgement.why}}};
    return;
  }
  if (proof.setting.value.empty()) {
    proof.effect = Effect::ignored;
    proof.reason = Finding{&k_empty_value};
    return;
  }
  if (std::string line = config_line(name, log); !line.empty()) {
    proof.effect = Effect::overridden;
    proof.reason = Finding{&k_configured};
    proof.line = line;
    return;
  }
  if (variable->kind == ValueKind::level) {
    workload::Judgement judgement = workload::judge(proof.setting, {}, {});
    if (judgement.reading == workload::Reading::misread) {
      proof.effect = Effect::ignored;
      proof.reason = Finding{&k_misread, {{"why", judgement.why}}};
      return;
    }
  }
  if (!log.has_words) {
    proof.reason = Finding{&k_no_log};
    return;
  }
  bool on_network = workload::acts_on_network(variable->scope) && log.nodes == 1;
  if (reads_integer(variable) || on_network) {
    proof.effect = Effect::path_not_taken;
    proof.reason = Finding{on_network ? &k_one_node : &k_not_reached};
    return;
  }
  proof.reason = Finding{&k_not_logged};
}

} // namespace

VariableProof prove_variable(const model::Setting& setting, const NcclLog& log,
                             const std::string& backend) {
  VariableProof proof{setting, Effect::not_known, {}, {}, {}};
  const SettingLine* read = log.setting(setting.name);
  if (setting.value == base::k_value_unset) {
    proof.effect = read == nullptr ? Effect::took_effect : Effect::overridden;
    proof.reason = Finding{read == nullptr ? &k_nothing_sets_it : &k_set_by_file};
    proof.line = read == nullptr ? "" : read->line;
    return proof;
  }
  if (backend != "nvidia") {
    proof.effect = read != nullptr ? Effect::took_effect : Effect::ignored;
    if (read != nullptr)
      proof.line = read->line;
    else
      proof.reason = Finding{&k_backend_ignores_it, {{"backend", backend}}};
    return proof;
  }
  const Variable* variable = workload::find_variable(setting.name);
  IntegerReading reading = workload::read_integer(setting.value);
  if (reads_integer(variable) && !setting.value.empty() && !reading.whole) {
    proof.effect = Effect::not_a_number;
    proof.reason = Finding{
        &k_read_other, {{"value", read != nullptr ? read->value : std::to_string(reading.value)}}};
    if (read != nullptr)
      proof.line = read->line;
    return proof;
  }
  if (read != nullptr)
    prove_read(proof, *read, variable, log);
  else
    prove_unread(proof, variable, log);
  return proof;
}

void check_choices(VariableProof& proof, const NcclLog& log, const model::TrialSpec& spec,
                   const std::vector<CellProof>& cells, int rank) {
  const model::Setting& setting = proof.setting;
  bool algorithm = setting.name == "NCCL_ALGO";
  if (!algorithm && setting.name != "NCCL_PROTO")
    return;
  bool looked = false;
  for (std::size_t c = 0; c < std::min(cells.size(), spec.cells.size()); ++c) {
    const auto* collective = cells[c].label.collective();
    auto function = collective ? workload::nccl_function(collective->collective) : std::nullopt;
    auto uses = cells[c].by_rank.find(rank);
    if (!function || uses == cells[c].by_rank.end())
      continue;
    auto allowed = algorithm ? workload::allowed_algorithms(setting.value, *function)
                             : workload::allowed_protocols(setting.value, *function);
    if (!allowed)
      return;
    for (const Use& use : uses->second) {
      const std::string& taken = algorithm ? use.algorithm : use.protocol;
      if (taken.empty())
        continue;
      looked = true;
      if (std::any_of(allowed->begin(), allowed->end(),
                      [&](std::string_view one) { return is_logged_as(one, taken); }))
        continue;
      std::string plugin = plugin_line(log, "TUNER/Plugin");
      proof.effect = Effect::overridden;
      proof.reason = Finding{&k_used_other, {{"function", *function}, {"taken", taken}}};
      if (!plugin.empty()) {
        proof.reason->kind = &k_tuner_used_other;
        proof.reason->values.emplace_back("plugin", plugin);
      }
      return;
    }
  }
  if (looked && proof.effect == Effect::not_known) {
    proof.effect = Effect::took_effect;
    proof.reason = Finding{&k_all_used_it};
  }
}

VariableProof prove_in_process(const model::Setting& setting, const std::vector<CellProof>& cells,
                               int rank) {
  VariableProof proof{setting, Effect::not_known, Finding{&k_not_reported}, {}, {}};
  auto taken_by = [&](const Use& use) {
    return setting.name == "algorithm"                      ? use.algorithm
           : setting.name == "protocol"                     ? use.protocol
           : setting.name == "channels" && use.channels > 0 ? std::to_string(use.channels)
                                                            : "";
  };
  for (const CellProof& cell : cells) {
    auto uses = cell.by_rank.find(rank);
    if (uses == cell.by_rank.end())
      continue;
    for (const Use& use : uses->second) {
      const std::string taken = taken_by(use);
      if (taken.empty())
        continue;
      if (!is_logged_as(setting.value, taken)) {
        proof.effect = Effect::overridden;
        proof.reason = Finding{
            &k_cell_used_other,
            {{"workload", cell.label.workload()}, {"setting", setting.name}, {"taken", taken}}};
        return proof;
      }
      proof.effect = Effect::took_effect;
      proof.reason = Finding{&k_all_used_it};
    }
  }
  return proof;
}

} // namespace ncclprobe::analysis
