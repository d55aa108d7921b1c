// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/loaded_libraries.h"

#include "base/add_once.h"
#include "base/name_ranks.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis {
namespace {

void merge(std::vector<int>& into, const std::vector<int>& ranks) {
  for (int rank : ranks)
    if (auto place = std::ranges::lower_bound(into, rank); place == into.end() || *place != rank)
      into.insert(place, rank);
}

void add(std::vector<LoadedLibrary>& all, const model::Library& library,
         const std::vector<int>& ranks) {
  auto same = std::ranges::find_if(all, [&](const LoadedLibrary& one) {
    return one.name == library.name && one.version == library.version && one.path == library.path;
  });
  if (same == all.end())
    same = all.insert(all.end(), {library.name, library.version, library.path, {}});
  merge(same->ranks, ranks);
}

// A library, its problem, and the affected ranks.
using Problems = std::map<std::pair<std::string, std::string>, std::vector<int>>;

void add_problems(Problems& problems, const model::TrialRecord& trial) {
  for (const model::WorkerRecord& worker : trial.workers) {
    for (const model::Library& library : worker.libraries)
      if (!library.problem.empty())
        merge(problems[{library.name, library.problem}], worker.ranks);
    for (const model::Setting& tested : trial.spec.tested_libraries)
      if (trial.outcome.ok() && std::ranges::find(worker.libraries, tested.name,
                                                  &model::Library::name) == worker.libraries.end())
        merge(problems[{tested.name, "it is not known which was loaded, if any"}], worker.ranks);
  }
}

std::vector<std::string> in_words(const Problems& problems) {
  std::vector<std::string> all;
  for (const auto& [problem, ranks] : problems)
    all.push_back(
        fmt::format("{}: {}: {}", base::name_ranks(ranks), problem.first, problem.second));
  return all;
}

std::vector<const LoadedLibrary*> of_name(const SettingLibraries& setting,
                                          const std::string& name) {
  std::vector<const LoadedLibrary*> found;
  for (const LoadedLibrary& one : setting.loaded)
    if (one.name == name)
      found.push_back(&one);
  return found;
}

bool same_files(const SettingLibraries& a, const SettingLibraries& b, const std::string& name) {
  auto of_a = of_name(a, name);
  auto of_b = of_name(b, name);
  return !of_a.empty() &&
         std::ranges::equal(of_a, of_b, [](const LoadedLibrary* x, const LoadedLibrary* y) {
           return x->path == y->path && x->version == y->version;
         });
}

bool chooses(const std::vector<model::Setting>& settings, const std::string& name) {
  return std::ranges::find(settings, name, &model::Setting::name) != settings.end();
}

} // namespace

std::vector<SettingLibraries> setting_libraries(const model::Run& run) {
  std::vector<SettingLibraries> all;
  std::vector<std::vector<std::string>> tested; // names, by setting
  std::vector<Problems> problems;               // likewise
  bool told = false;
  for (const model::TrialRecord& trial : run.trials) {
    std::string name = trial.spec.label();
    auto place = std::ranges::find(all, name, &SettingLibraries::setting);
    if (place == all.end()) {
      place = all.insert(all.end(), {name, trial.spec.is_default(), {}, {}, {}});
      tested.emplace_back();
      problems.emplace_back();
      for (const model::Setting& one : trial.spec.tested_libraries)
        tested.back().push_back(one.name);
    }
    auto index = static_cast<std::size_t>(place - all.begin());
    add_problems(problems[index], trial);
    for (const model::WorkerRecord& worker : trial.workers)
      for (const model::Library& library : worker.libraries) {
        told = true;
        add(place->loaded, library, worker.ranks);
        // The loader's search path picks libraries, not the program itself.
        if (library.name != model::k_worker_program &&
            chooses(trial.spec.process.common, k_loader_path))
          base::add_once(tested[index], library.name);
      }
  }
  if (!told)
    return {};
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::ranges::stable_sort(all[i].loaded, {}, &LoadedLibrary::name);
    all[i].problems = in_words(problems[i]);
  }
  auto base = std::ranges::find_if(all, &SettingLibraries::is_default);
  if (base != all.end())
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const std::string& name : tested[i])
        if (!all[i].is_default && same_files(all[i], *base, name))
          all[i].as_default.push_back(name);
  std::ranges::stable_partition(all, &SettingLibraries::is_default);
  return all;
}

bool libraries_differ(const std::vector<SettingLibraries>& all) {
  return std::ranges::any_of(all, [&](const SettingLibraries& one) {
    return !one.problems.empty() || !one.as_default.empty() ||
           std::ranges::any_of(one.loaded, [&](const LoadedLibrary& library) {
             return !same_files(one, all.front(), library.name);
           });
  });
}

std::string library_problem(const model::TrialRecord& trial) {
  Problems problems;
  add_problems(problems, trial);
  std::erase_if(problems, [&](const auto& one) {
    return std::ranges::find(trial.spec.libraries, one.first.first, &model::Setting::name) ==
           trial.spec.libraries.end();
  });
  return problems.empty() ? "" : in_words(problems).front();
}

std::string in_words(const LoadedLibrary& library) {
  return fmt::format("{} {} ({})", library.name,
                     library.version.empty() ? "of unknown version" : library.version,
                     library.path);
}

} // namespace ncclprobe::analysis
