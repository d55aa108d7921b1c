// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/proof_of_delivery.h"

#include "analysis/results/cell_summary.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ncclprobe::analysis::tune {
namespace {

// Times of one side: by trial, then by target.
using TimesOfTrials = std::map<int, std::map<std::size_t, double>>;

std::vector<double> of_target(const TimesOfTrials& trials, std::size_t target) {
  std::vector<double> times_ns;
  for (const auto& [trial, times] : trials)
    if (auto found = times.find(target); found != times.end())
      times_ns.push_back(found->second);
  return times_ns;
}

void remove(TimesOfTrials& trials, const std::set<int>& without) {
  std::erase_if(trials, [&](const auto& one) { return without.contains(one.first); });
}

// Geometric means over the targets, of the trials that measured all.
std::vector<double> of_all(const TimesOfTrials& trials, const std::vector<ProvenTarget>& targets) {
  double sum = 0;
  for (const ProvenTarget& one : targets)
    sum += one.weight;
  std::vector<double> times_ns;
  for (const auto& [trial, times] : trials) {
    if (times.size() != targets.size())
      continue;
    double logarithm = 0;
    for (const auto& [target, time_ns] : times)
      logarithm += targets[target].weight / sum * std::log(time_ns);
    times_ns.push_back(std::exp(logarithm));
  }
  return times_ns;
}

} // namespace

bool DeliveryProof::holds() const {
  return !wrong_data && outcome == model::OutcomeKind::ok && all && all->interval.low > 1 &&
         std::ranges::none_of(each, [](const std::optional<RatioTest>& one) {
           return !one || one->interval.high < 1;
         });
}

DeliveryProof prove_delivery(const RunSummary& run, const std::vector<ProvenTarget>& targets,
                             const std::string& delivered, const std::set<int>& without) {
  TimesOfTrials of_default, of_delivery;
  DeliveryProof proof;
  for (const SettingResult& result : setting_results(run))
    for (std::size_t target = 0; target < targets.size(); ++target) {
      const ProvenTarget& asked = targets[target];
      const bool is_default = result.is_default && result.label == asked.of_default;
      if (!is_default && (result.setting != delivered || result.label != asked.of_delivery))
        continue;
      proof.wrong_data = proof.wrong_data || (!is_default && result.data == DataState::wrong);
      for (const ProcessTime& process : result.processes)
        (is_default ? of_default : of_delivery)[process.trial][target] =
            process.time.over_batches_ns.median;
    }
  auto ratio_for_all = [&] {
    return welch_ratio(of_all(of_default, targets), of_all(of_delivery, targets), k_confidence);
  };
  const bool with_rejected = ratio_for_all().has_value();
  remove(of_default, without);
  remove(of_delivery, without);
  proof.rejected = static_cast<int>(without.size());
  proof.default_processes = static_cast<int>(of_default.size());
  proof.delivery_processes = static_cast<int>(of_delivery.size());
  proof.all = ratio_for_all();
  proof.disturbed = with_rejected && !proof.all;
  for (std::size_t target = 0; target < targets.size(); ++target)
    proof.each.push_back(
        welch_ratio(of_target(of_default, target), of_target(of_delivery, target), k_confidence));
  return proof;
}

} // namespace ncclprobe::analysis::tune
