// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The launcher, and whether the ranks run the same software.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

// "2.28.3: ranks 0-6", and the ranks of the rarest value.
struct Division {
  std::vector<std::string> seen;
  std::vector<int> fewest;
};

Division divide(const Case& one, const std::function<std::string(const model::Survey&)>& value_of) {
  std::map<std::string, std::vector<int>> ranks_by_value;
  for (const model::Survey& survey : one.surveys) {
    std::vector<int>& ranks = ranks_by_value[value_of(survey)];
    ranks.insert(ranks.end(), survey.ranks.begin(), survey.ranks.end());
  }
  Division division;
  for (const auto& [value, ranks] : ranks_by_value) {
    division.seen.push_back(
        fmt::format("{}: {}", value.empty() ? "(none)" : value, ranks_with_host(one, ranks)));
    name_fewer(ranks, division.fewest);
  }
  return division;
}

std::string library_version(const model::Survey& survey, std::string_view name) {
  const model::Library* library = survey.inventory.library(name);
  return library == nullptr ? "" : library->version;
}

// Without a worker's answer, all other checks would guess.
bool check_workers(const Case& one, CheckResults& into) {
  bool all = true;
  for (const model::Survey& survey : one.surveys) {
    if (survey.worker_problem.empty())
      continue;
    all = false;
    into.add(
        survey,
        {"D32",
         CheckStatus::fail,
         survey.worker_mismatch
             ? What("worker_mismatch", "ncclprobe and its worker program have different versions")
             : What("worker_silent",
                    "ncclprobe's worker program does not respond, with or without GPUs"),
         {survey.worker_problem},
         "nothing was examined, and nothing can be measured",
         survey.worker_mismatch
             ? "install ncclprobe and ncclprobe-worker together, or name the right one: "
               "--library worker=PATH"
             : "run it to see its error: ncclprobe-worker --inventory; if it is missing, "
               "install it, or name it: --library worker=PATH"});
  }
  return all;
}

void check_versions_agree(const Case& one, CheckResults& into) {
  struct Subject {
    const char* name;
    CheckStatus status;
    const char* cost;
    const char* fix;
  };
  constexpr Subject k_libraries[] = {
      {"nccl", CheckStatus::fail, "ncclCommInitRank fails ('Mismatched NCCL versions') or hangs",
       "set the same LD_LIBRARY_PATH on all ranks: mpirun -x LD_LIBRARY_PATH"},
      {"cuda_driver", CheckStatus::warn,
       "NCCL uses what all drivers support, or fails if their major versions differ",
       "install the same driver on all hosts"},
      {"cuda_runtime", CheckStatus::warn, "ranks have different features",
       "install the same ncclprobe on all hosts"},
      {"gloo", CheckStatus::warn, "ranks run different builds",
       "install the same ncclprobe on all hosts"},
      {"cupti", CheckStatus::info, "traces of ranks differ", ""},
  };
  bool agree = true;
  auto compare = [&](const What& what, CheckStatus status, const Words& cost, const Words& fix,
                     const auto& value_of) {
    Division division = divide(one, value_of);
    if (division.seen.size() < 2)
      return;
    agree = false;
    into.add({"D32", status, what, division.seen, cost, fix, division.fewest});
  };
  for (const Subject& subject : k_libraries)
    compare(subject.name == std::string_view("nccl")
                ? What("nccl_differs", "ranks disagree on the version of nccl")
                : What("library_differs", "ranks disagree on the version of {library}",
                       {{"library", subject.name}}),
            subject.status, subject.cost, subject.fix,
            [&](const model::Survey& survey) { return library_version(survey, subject.name); });
  compare({"ncclprobe_differs", "ranks disagree on the version of ncclprobe"}, CheckStatus::fail,
          "supervisors of different builds cannot communicate",
          "install the same ncclprobe on all hosts",
          [](const model::Survey& survey) { return survey.ncclprobe; });
  compare({"mpi_differs", "ranks disagree on the MPI library"}, CheckStatus::warn,
          "MPI_Init may hang", "use one MPI on all hosts: mpirun --prefix PATH",
          [](const model::Survey& survey) { return survey.mpi; });
  std::set<std::string> variables; // a separate check covers NCCL's variables
  for (const model::Survey& survey : one.surveys)
    for (const model::Setting& setting : survey.process.environment)
      if (!setting.name.starts_with("NCCL_") && !model::may_differ_between_ranks(setting.name))
        variables.insert(setting.name);
  for (const std::string& name : variables) {
    bool of_loader = name.starts_with("LD_");
    compare({"environment_differs", "ranks disagree on {variable}", {{"variable", name}}},
            of_loader ? CheckStatus::info : CheckStatus::warn,
            of_loader ? "none, as long as the loaded libraries have the same versions"
                      : "ranks may behave differently",
            "give all ranks the same value: mpirun -x {variable}",
            [&](const model::Survey& survey) {
              const model::Setting* setting = survey.variable(name);
              return setting == nullptr ? std::string() : setting->value;
            });
  }
  if (agree)
    into.add({"D32", CheckStatus::ok, {"versions_agree", "all ranks have the same versions"}});
}

} // namespace

void check_launch(const Case& one, CheckResults& into) {
  std::vector<std::string> seen;
  if (!one.surveys.empty() && !one.surveys.front().mpi.empty())
    seen.push_back(one.surveys.front().mpi);
  if (!one.launcher_problem.empty())
    into.add({"D01", CheckStatus::fail,
              What("launcher", "{problem}", {{"problem", one.launcher_problem}}), seen,
              "N jobs of one rank run instead of one job of N",
              "start with mpirun, or with srun --mpi=pmix if this Open MPI was built with PMIx"});
  else
    into.add({"D01", CheckStatus::ok,
              one.surveys.size() > 1
                  ? What("ranks_started", "{ranks} ranks started and exchanged data without CUDA",
                         {{"ranks", one.surveys.size()}})
                  : What("one_supervisor", "one supervisor, no launcher needed"),
              seen});
  if (check_workers(one, into))
    check_versions_agree(one, into);
}

} // namespace ncclprobe::analysis::doctor
