// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/worker_cpus.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

void add(SettingCpus& setting, const model::WorkerRecord& worker) {
  auto same = std::ranges::find_if(setting.workers, [&](const WorkerCpus& one) {
    return one.host == worker.host && one.asked == worker.cpus_asked && one.cpus == worker.cpus;
  });
  if (same == setting.workers.end())
    same = setting.workers.insert(setting.workers.end(),
                                  {{}, worker.host, worker.cpus_asked, worker.cpus, false});
  for (int rank : worker.ranks)
    if (auto place = std::ranges::lower_bound(same->ranks, rank);
        place == same->ranks.end() || *place != rank)
      same->ranks.insert(place, rank);
}

bool has(const SettingCpus& by_default, const WorkerCpus& worker, int rank) {
  return std::ranges::any_of(by_default.workers, [&](const WorkerCpus& other) {
    return other.host == worker.host && other.cpus == worker.cpus &&
           std::ranges::binary_search(other.ranks, rank);
  });
}

bool is_refused(const model::TrialRecord& trial) {
  return trial.outcome.kind == model::OutcomeKind::skipped &&
         std::ranges::any_of(trial.workers, [](const model::WorkerRecord& worker) {
           return worker.cpus_asked.empty();
         });
}

} // namespace

std::vector<SettingCpus> setting_cpus(const model::Run& run) {
  std::vector<SettingCpus> all;
  for (const model::TrialRecord& trial : run.trials) {
    const std::string name = trial.spec.label();
    auto place = std::ranges::find(all, name, &SettingCpus::setting);
    if (place == all.end())
      place = all.insert(all.end(),
                         {name, trial.spec.is_default(), !trial.spec.cpu_affinity.empty(), {}, ""});
    if (place->asks && is_refused(trial))
      place->refused = trial.outcome.reason;
    else
      for (const model::WorkerRecord& worker : trial.workers)
        add(*place, worker);
  }
  if (std::ranges::none_of(all, &SettingCpus::asks))
    return {};
  for (SettingCpus& one : all)
    std::ranges::sort(one.workers, {}, &WorkerCpus::ranks);
  std::ranges::stable_partition(all, &SettingCpus::is_default);
  if (all.front().is_default)
    for (SettingCpus& one : all)
      for (WorkerCpus& worker : one.workers)
        worker.as_default =
            worker.took_effect() && std::ranges::all_of(worker.ranks, [&](int rank) {
              return has(all.front(), worker, rank);
            });
  return all;
}

bool SettingCpus::changes_nothing() const {
  return asks && !workers.empty() && std::ranges::all_of(workers, &WorkerCpus::as_default);
}

std::string cpu_problem(const model::TrialRecord& trial) {
  if (trial.spec.cpu_affinity.empty())
    return "";
  for (const model::WorkerRecord& worker : trial.workers)
    if (worker.cpus != worker.cpus_asked)
      return fmt::format("ranks {}: CPUs {} were requested, but it ran on {}",
                         model::format_ranks(worker.ranks), worker.cpus_asked,
                         worker.cpus.empty() ? "an unknown set" : worker.cpus);
  return "";
}

} // namespace ncclprobe::analysis
