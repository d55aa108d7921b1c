// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/explanation.h"

#include "analysis/results/cell_summary.h"
#include "analysis/steps/step_results.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::tune {
namespace {

// The side that ran a cell; null: neither. Options of a training step are part of its label, so a
// delivery of these alone runs under the default's settings.
template <typename Ran> // has setting, is_default
HowItRan* side_of(Explanation& explanation, const ProvenTarget& target,
                  const model::CellLabel& label, const Ran& ran, const std::string& delivered) {
  if (ran.is_default && label == target.of_default)
    return &explanation.of_default;
  return ran.setting == delivered && label == target.of_delivery ? &explanation.of_delivery
                                                                 : nullptr;
}

std::vector<Use> uses_of(const CellProof& cell) {
  std::set<Use> all;
  for (const auto& [rank, uses] : cell.by_rank)
    all.insert(uses.begin(), uses.end());
  return {all.begin(), all.end()};
}

} // namespace

std::optional<steps::StepTimes> step_times_of(const model::Cell& cell,
                                              const model::CellRecord& record, int ranks) {
  if (record.marks.empty())
    return std::nullopt;
  const auto figures = steps::step_figures(cell.schedule, ranks, record.marks);
  return figures ? std::optional(figures->times) : std::nullopt;
}

void StepTimesOfCandidates::add(std::size_t target, const search::Candidate& candidate,
                                const steps::StepTimes& times) {
  Sum& sum = sums_[{target, candidate}];
  sum.times += times;
  ++sum.processes;
}

std::optional<steps::StepTimes>
StepTimesOfCandidates::of(std::size_t target, const search::Candidate& candidate) const {
  const auto found = sums_.find({target, candidate});
  if (found == sums_.end())
    return std::nullopt;
  steps::StepTimes mean = found->second.times;
  mean *= 1.0 / found->second.processes;
  return mean;
}

int HowItRan::sms() const {
  int most = 0;
  for (const Use& one : uses)
    most = std::max(most, one.channels);
  return most;
}

std::vector<Explanation> explain_delivery(const RunSummary& run,
                                          const std::vector<ProvenTarget>& targets,
                                          const std::string& delivered) {
  const std::vector<SettingProof> proofs = setting_proofs(run);
  const std::vector<SettingResult> results = setting_results(run);
  const std::vector<steps::StepResult> step_results = steps::step_results(run, results);
  std::vector<Explanation> explanations;
  for (const ProvenTarget& target : targets) {
    Explanation& one = explanations.emplace_back();
    for (const SettingProof& proof : proofs)
      for (const CellProof& cell : proof.cells)
        if (HowItRan* side = side_of(one, target, cell.label, proof, delivered))
          side->uses = uses_of(cell);
    for (const steps::StepResult& step : step_results)
      if (HowItRan* side = side_of(one, target, step.label, step, delivered);
          side && !step.processes.empty())
        side->times = step.times;
  }
  return explanations;
}

std::vector<CandidateChoices> choices_of(const std::vector<model::TrialRecord>& companions,
                                         const std::vector<search::Candidate>& candidates,
                                         const std::vector<model::CellLabel>& targets) {
  model::Run run;
  run.trials = companions;
  const std::vector<SettingProof> proofs = setting_proofs(run);
  std::vector<CandidateChoices> choices;
  for (std::size_t i = 0; i < std::min(proofs.size(), candidates.size()); ++i) {
    CandidateChoices& one = choices.emplace_back(CandidateChoices{candidates[i], {}});
    for (const model::CellLabel& target : targets) {
      const auto cell = std::ranges::find(proofs[i].cells, target, &CellProof::label);
      one.by_target.push_back(cell == proofs[i].cells.end() ? std::vector<Use>{} : uses_of(*cell));
    }
  }
  return choices;
}

std::vector<IneffectiveSetting>
ineffective_settings(const std::vector<model::TrialRecord>& companions,
                     const std::vector<search::Candidate>& candidates) {
  model::Run run;
  run.trials = companions;
  const std::vector<SettingProof> proofs = setting_proofs(run);
  std::vector<IneffectiveSetting> all;
  for (std::size_t i = 0; i < std::min(proofs.size(), candidates.size()); ++i)
    for (const VariableProof& one : proofs[i].variables)
      if (one.effect != Effect::took_effect && one.effect != Effect::not_known)
        all.push_back({candidates[i], one.setting, one.effect, one.reason});
  return all;
}

std::vector<search::Candidate> clear_losers(const search::Outcome& outcome, double min_gain) {
  std::vector<const search::Reason*> slower;
  for (const search::Reason& one : outcome.reasons)
    if (!one.target && search::changes(one.candidate) == 1 && one.fate != search::Fate::failed &&
        one.fate != search::Fate::unfinished && one.speed * (1 + min_gain) < 1)
      slower.push_back(&one);
  std::ranges::stable_sort(slower, {}, &search::Reason::speed);
  std::vector<search::Candidate> losers;
  for (std::size_t i = 0; i < std::min(slower.size(), k_most_losers); ++i)
    losers.push_back(slower[i]->candidate);
  return losers;
}

} // namespace ncclprobe::analysis::tune
