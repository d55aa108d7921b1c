// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_prediction.h"

#include "analysis/proof/nccl_log.h"
#include "workload/nccl_selection.h"

namespace ncclprobe::analysis {
namespace {

// The data that the default's companions recorded.
struct Words {
  std::vector<TuningTable> tables;
  std::vector<std::pair<model::CellLabel, double>> told_us; // a label once
};

std::optional<double> told_us(const Words& words, const model::CellLabel& wanted) {
  for (const auto& [label, time_us] : words.told_us)
    if (label == wanted)
      return time_us;
  return std::nullopt;
}

Words words_of(const model::Run& run) {
  Words words;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != model::Purpose::companion || !trial.spec.is_default())
      continue;
    for (const model::Evidence& evidence : trial.evidence) {
      NcclLog log = read_nccl_log(evidence.log);
      for (TuningTable& table : log.tables)
        words.tables.push_back(std::move(table));
      for (auto [cell, time_us] : log.expected_us)
        if (cell >= 0 && static_cast<std::size_t>(cell) < trial.spec.cells.size())
          if (const auto& label = trial.spec.cells[cell].label; !told_us(words, label))
            words.told_us.emplace_back(label, time_us);
    }
  }
  return words;
}

std::optional<TunedTime> by_table(const std::vector<TuningTable>& tables,
                                  const SettingResult& result, std::string_view function,
                                  const Use& use) {
  for (const TuningTable& table : tables)
    if (table.ranks == result.ranks)
      for (const TunedAlgorithm& tuned : table.algorithms)
        if (tuned.function == function && tuned.algorithm == use.algorithm &&
            tuned.protocol == use.protocol)
          return tuned_time(tuned, result.label.bytes, table.nodes);
  return std::nullopt;
}

std::optional<Use> use_in(const std::vector<SettingProof>& proofs, const SettingResult& result) {
  for (const SettingProof& proof : proofs)
    if (result.is_default ? proof.is_default : proof.setting == result.setting)
      return one_use(proof, result.label);
  return std::nullopt;
}

void find_faster(NcclPrediction& prediction, const std::vector<SettingResult>& results,
                 const Verdicts& verdicts, const std::vector<SettingProof>& proofs) {
  for (const SettingResult& other : results) {
    const Comparison* comparison = verdicts.of(other);
    if (!comparison || comparison->baseline != prediction.result ||
        comparison->verdict != Verdict::better ||
        comparison->speed_ratio <= prediction.faster_ratio)
      continue;
    auto use = use_in(proofs, other);
    if (!use ||
        (use->algorithm == prediction.use.algorithm && use->protocol == prediction.use.protocol))
      continue;
    prediction.faster = &other;
    prediction.faster_ratio = comparison->speed_ratio;
    prediction.faster_use = *use;
  }
}

} // namespace

std::vector<NcclPrediction> nccl_predictions(const model::Run& run,
                                             const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts) {
  std::vector<NcclPrediction> predictions;
  const Words words = words_of(run);
  if (words.tables.empty() && words.told_us.empty())
    return predictions;
  const std::vector<SettingProof> proofs = setting_proofs(run);
  for (const SettingResult& result : results) {
    const auto* collective = result.label.collective();
    if (!collective || !result.is_default || result.data == DataState::wrong || result.ranks < 2)
      continue;
    auto function = workload::nccl_function(collective->collective);
    auto use = use_in(proofs, result);
    if (!use || !function)
      continue;
    auto told = told_us(words, result.label);
    auto expected = told ? TunedTime{*told, true} : by_table(words.tables, result, *function, *use);
    if (!expected)
      continue;
    NcclPrediction one{
        .result = &result, .use = *use, .expected = *expected, .is_told = told.has_value()};
    find_faster(one, results, verdicts, proofs);
    predictions.push_back(std::move(one));
  }
  return predictions;
}

} // namespace ncclprobe::analysis
