// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/assembly.h"

#include "base/name_ranks.h"
#include "base/stored_variables.h"
#include "launch/supervisor/launcher.h"
#include "model/document.h"

#include <algorithm>
#include <set>

namespace ncclprobe::launch {

std::string encode_report(const SupervisorReport& report) {
  return base::write_json(report);
}

Result<SupervisorReport> decode_report(const std::string& text) {
  auto report = base::parse_json<SupervisorReport>(text);
  if (!report)
    return with_context(report.error(), "a supervisor's report cannot be read");
  return report;
}

std::vector<int> host_numbers(const std::vector<SupervisorReport>& reports) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<int> numbers;
  for (const SupervisorReport& report : reports)
    numbers.push_back(
        seen.try_emplace({report.hostname, report.boot_id}, static_cast<int>(seen.size()))
            .first->second);
  return numbers;
}

std::vector<model::RankVariable> environment_of_ranks(const std::vector<SupervisorReport>& reports,
                                                      const Layout& layout) {
  using Values = std::map<std::string, std::string>;
  std::vector<Values> values; // by supervisor
  std::set<std::string> names;
  for (const SupervisorReport& report : reports) {
    Values& of_one = values.emplace_back();
    for (const model::Setting& setting : report.environment) {
      of_one[setting.name] = setting.value;
      names.insert(setting.name);
    }
  }
  auto value_at = [&](int supervisor, const std::string& name) {
    const Values& of_one = values.at(supervisor);
    auto found = of_one.find(name);
    return found == of_one.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<model::RankVariable> differ;
  for (const std::string& name : names) {
    std::map<std::optional<std::string>, std::vector<int>> ranks_by_value;
    for (const RankPlacement& placement : layout.placements)
      if (auto value = value_at(placement.supervisor, name); value != value_at(0, name))
        ranks_by_value[value].push_back(placement.rank);
    for (auto& [value, ranks] : ranks_by_value)
      differ.push_back({std::move(ranks), name,
                        value ? std::optional(base::stored_value(name, *value)) : std::nullopt});
  }
  return differ;
}

Result<void> check_launcher(const std::map<std::string, std::string>& environment, int fleet_size) {
  // What sets variables alone cannot disagree; and who measures one host alone on purpose may.
  const Launcher by = launcher_of(environment).value_or(Launcher::none);
  if (by == Launcher::env || (environment.contains("NCCLPROBE_LAUNCHER") && by == Launcher::none))
    return {};
  auto size_by = [&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  std::string launcher = "mpirun";
  std::string told = size_by("OMPI_COMM_WORLD_SIZE");
  if (told.empty()) {
    launcher = "the PMI launcher";
    told = size_by("PMI_SIZE");
  }
  // mpirun within a Slurm step inherits the step's size. So that size counts only if no launcher
  // gives another.
  if (told.empty() && fleet_size == 1) {
    launcher = "srun";
    told = size_by("SLURM_STEP_NUM_TASKS");
  }
  if (told.empty() || told == std::to_string(fleet_size))
    return {};
  return fail(
      Error{Errc::mismatch,
            fmt::format("{} started {} tasks, but MPI sees {}: each task would measure alone",
                        launcher, told, fleet_size),
            "start with mpirun, or with the srun --mpi that this MPI knows (Open MPI: pmix, MPICH: "
            "pmi2), or without MPI: export NCCLPROBE_LAUNCHER=env, MASTER_ADDR and MASTER_PORT"});
}

Result<void> check_agreement(const std::vector<SupervisorReport>& reports) {
  const SupervisorReport& leader = reports.front();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].problem)
      continue;
    Error problem = *reports[rank].problem;
    if (reports.size() > 1)
      problem.message =
          fmt::format("rank {} on {}: {}", rank, reports[rank].hostname, problem.message);
    return fail(std::move(problem));
  }
  auto ranks_that_differ = [&](auto field) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < reports.size(); ++rank)
      if (reports[rank].*field != leader.*field)
        ranks.push_back(static_cast<int>(rank));
    return ranks;
  };
  auto refuse = [](const std::vector<int>& ranks, const std::string& what, const char* hint) {
    return fail(Error{Errc::mismatch, base::name_ranks(ranks) + " " + what, hint});
  };
  if (auto ranks = ranks_that_differ(&SupervisorReport::arguments); !ranks.empty())
    return refuse(ranks, "started with different arguments from rank 0",
                  "give every rank of the mpirun line the same arguments");
  if (auto ranks = ranks_that_differ(&SupervisorReport::plan); !ranks.empty())
    return refuse(ranks, "read a different plan file from rank 0",
                  "put one plan file where all hosts see it");
  if (auto ranks = ranks_that_differ(&SupervisorReport::version); !ranks.empty())
    return refuse(ranks,
                  fmt::format("run another version than rank 0 ({}): {}", leader.version,
                              reports[ranks.front()].version),
                  "install the same ncclprobe on every host");
  for (const SupervisorReport& report : reports) {
    if (!report.inventory || !leader.inventory)
      continue;
    for (const char* name : {"nccl", "gloo"}) {
      const model::Library* ours = leader.inventory->library(name);
      const model::Library* theirs = report.inventory->library(name);
      if (ours && theirs && ours->version != theirs->version)
        return fail(
            Error{Errc::mismatch,
                  fmt::format("{} is {} on {} and {} on {}", name, ours->version, leader.hostname,
                              theirs->version, report.hostname),
                  fmt::format(
                      "make LD_LIBRARY_PATH equal on all hosts, or name one with --library {}=PATH",
                      name)});
    }
  }
  return {};
}

Result<BackendChoice> choose_backend(const std::string& asked,
                                     const std::vector<model::HostInventory>& hosts) {
  std::string problem;
  for (const model::HostInventory& host : hosts)
    if (problem.empty() && !host.nvidia_problem.empty())
      problem = host.hostname + ": " + host.nvidia_problem;
  if (asked == "synthetic")
    return BackendChoice{"synthetic", "requested; every number is synthetic"};
  if (asked == "host")
    return BackendChoice{"host", "requested"};
  if (asked == "nvidia") {
    if (problem.empty())
      return BackendChoice{"nvidia", "requested"};
    return fail(Error{Errc::unsupported, "the nvidia backend cannot run here: " + problem,
                      "--backend host measures the CPU through Gloo"});
  }
  if (asked != "auto")
    return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not a backend", asked),
                      "known: auto, nvidia, host, synthetic"});
  if (problem.empty())
    return BackendChoice{"nvidia", "every host has usable GPUs"};
  return BackendChoice{"host", "no usable GPU (" + problem + ")"};
}

Result<Layout> make_layout(const std::vector<SupervisorReport>& reports,
                           const std::vector<model::HostInventory>& hosts,
                           const std::string& backend, std::optional<int> ranks,
                           const DeviceChoice& choice) {
  Layout layout;
  for (const model::HostInventory& host : hosts)
    layout.hosts.push_back(host.hostname);
  bool on_gpus = backend == "nvidia";
  auto gpus = [&](int host) { return static_cast<int>(hosts[host].gpus.size()); };
  std::vector<int> numbers = host_numbers(reports);
  std::map<int, int> used; // devices taken by host
  auto add_rank = [&](int supervisor) {
    int host = numbers[supervisor];
    int place = used[host]++;
    bool named = place < std::ssize(choice.devices);
    layout.placements.push_back(
        {layout.ranks(), supervisor, host, named ? choice.devices[place] : place});
  };
  auto wanted = [&](int host) {
    return !choice.devices.empty() ? static_cast<int>(choice.devices.size())
           : on_gpus               ? gpus(host)
                                   : 2;
  };
  bool alone = hosts.size() == reports.size(); // each on its host
  if (reports.size() == 1) {
    int count = ranks.value_or(wanted(0));
    for (int rank = 0; rank < count; ++rank)
      add_rank(0);
  } else if (choice.share == DeviceChoice::Share::all_gpus && on_gpus && alone) {
    for (int supervisor = 0; supervisor < std::ssize(reports); ++supervisor)
      for (int i = 0; i < wanted(numbers[supervisor]); ++i)
        add_rank(supervisor);
  } else {
    if (ranks && *ranks != std::ssize(reports))
      return fail(Error{Errc::invalid_argument,
                        fmt::format("--ranks {} does not fit {} MPI ranks", *ranks, reports.size()),
                        "leave --ranks out under mpirun"});
    for (int supervisor = 0; supervisor < std::ssize(reports); ++supervisor)
      add_rank(supervisor);
  }
  if (layout.placements.empty())
    return fail(Errc::invalid_argument, "there is no rank to run");
  for (int host = 0; on_gpus && host < std::ssize(hosts); ++host) {
    std::vector<int> without;
    for (const RankPlacement& placement : layout.placements)
      if (placement.host == host && placement.device >= gpus(host))
        without.push_back(placement.rank);
    if (!without.empty())
      return fail(Error{Errc::unavailable,
                        fmt::format("no GPU for {} on {}: the host has {}",
                                    base::name_ranks(without), layout.hosts[host], gpus(host)),
                        "start one rank per GPU, or use --backend host"});
  }
  return layout;
}

} // namespace ncclprobe::launch
