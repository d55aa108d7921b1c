// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/assembly.h"

#include "model/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::launch {

using base::Errc;
using base::Error;
using base::fail;
using base::Result;

std::string encode_report(const SupervisorReport& report) {
  nlohmann::json json{{"hostname", report.hostname},
                      {"boot_id", report.boot_id},
                      {"version", report.version},
                      {"arguments", report.arguments},
                      {"problem", report.problem}};
  if (report.inventory)
    json["inventory"] = *report.inventory;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<SupervisorReport> decode_report(const std::string& text) {
  try {
    auto json = nlohmann::json::parse(text);
    SupervisorReport report;
    json.at("hostname").get_to(report.hostname);
    json.at("boot_id").get_to(report.boot_id);
    json.at("version").get_to(report.version);
    json.at("arguments").get_to(report.arguments);
    json.at("problem").get_to(report.problem);
    if (json.contains("inventory"))
      report.inventory = json.at("inventory").get<model::Host>();
    return report;
  } catch (const std::exception& error) {
    return fail(Errc::protocol, "a supervisor's report cannot be read: {}", error.what());
  }
}

std::vector<int> host_numbers(const std::vector<SupervisorReport>& reports) {
  std::vector<std::string> seen;
  std::vector<int> numbers;
  for (const SupervisorReport& report : reports) {
    auto found = std::find(seen.begin(), seen.end(), report.boot_id);
    numbers.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end())
      seen.push_back(report.boot_id);
  }
  return numbers;
}

Result<void> check_launcher(const std::map<std::string, std::string>& environment, int fleet_size) {
  // Each launcher tells its ranks how many they are.
  constexpr std::array<std::pair<const char*, const char*>, 3> k_sizes{
      {{"OMPI_COMM_WORLD_SIZE", "mpirun"},
       {"PMI_SIZE", "the PMI launcher"},
       {"SLURM_STEP_NUM_TASKS", "srun"}}};
  for (auto [name, launcher] : k_sizes) {
    auto found = environment.find(name);
    if (found == environment.end() || found->second == std::to_string(fleet_size))
      continue;
    return fail(Error{
        Errc::mismatch,
        fmt::format("{} started {} tasks ({}), but MPI sees {}: each task would measure alone",
                    launcher, found->second, name, fleet_size),
        "start with mpirun, or with srun --mpi=pmix if this Open MPI was built with PMIx"});
  }
  return {};
}

Result<void> check_agreement(const std::vector<SupervisorReport>& reports) {
  const SupervisorReport& leader = reports.front();
  std::vector<int> other_arguments, other_version;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].arguments != leader.arguments)
      other_arguments.push_back(static_cast<int>(rank));
    if (reports[rank].version != leader.version)
      other_version.push_back(static_cast<int>(rank));
    if (!reports[rank].problem.empty())
      return fail(Errc::unavailable, "rank {} on {}: {}", rank, reports[rank].hostname,
                  reports[rank].problem);
  }
  if (!other_arguments.empty())
    return fail(Error{Errc::mismatch,
                      fmt::format("rank(s) {} were started with other arguments than rank 0",
                                  model::format_ranks(other_arguments)),
                      "give every rank of the mpirun line the same arguments"});
  if (!other_version.empty())
    return fail(Error{Errc::mismatch,
                      fmt::format("rank(s) {} run another version than rank 0 ({}): {}",
                                  model::format_ranks(other_version), leader.version,
                                  reports[static_cast<std::size_t>(other_version.front())].version),
                      "install the same ncclprobe on every host"});
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
                                     const std::vector<model::Host>& hosts) {
  std::string problem;
  for (const model::Host& host : hosts)
    if (problem.empty() && !host.nvidia_problem.empty())
      problem = host.hostname + ": " + host.nvidia_problem;
  if (asked == "synthetic")
    return BackendChoice{"synthetic", "asked for: every number is synthetic"};
  if (asked == "host")
    return BackendChoice{"host", "asked for"};
  if (asked == "nvidia") {
    if (problem.empty())
      return BackendChoice{"nvidia", "asked for"};
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
                           const std::vector<model::Host>& hosts, const std::string& backend,
                           std::optional<int> ranks) {
  Layout layout;
  for (const model::Host& host : hosts)
    layout.hosts.push_back(host.hostname);
  bool on_gpus = backend == "nvidia";
  auto gpus = [&](int host) {
    return static_cast<int>(hosts[static_cast<std::size_t>(host)].gpus.size());
  };
  if (reports.size() == 1) {
    int wanted = ranks.value_or(on_gpus ? gpus(0) : 2);
    for (int rank = 0; rank < wanted; ++rank)
      layout.seats.push_back({rank, 0, 0, rank});
  } else {
    if (ranks && *ranks != static_cast<int>(reports.size()))
      return fail(Error{Errc::invalid_argument,
                        fmt::format("--ranks {} does not fit {} MPI ranks", *ranks, reports.size()),
                        "leave --ranks out under mpirun"});
    std::vector<int> numbers = host_numbers(reports);
    std::map<int, int> used; // devices taken by host
    for (int rank = 0; rank < static_cast<int>(reports.size()); ++rank) {
      int host = numbers[static_cast<std::size_t>(rank)];
      layout.seats.push_back({rank, rank, host, used[host]++});
    }
  }
  if (layout.seats.empty())
    return fail(Errc::invalid_argument, "there is no rank to run");
  for (int host = 0; on_gpus && host < static_cast<int>(hosts.size()); ++host) {
    std::vector<int> without;
    for (const RankSeat& seat : layout.seats)
      if (seat.host == host && seat.device >= gpus(host))
        without.push_back(seat.rank);
    if (!without.empty())
      return fail(Error{Errc::unavailable,
                        fmt::format("rank(s) {} on {} have no GPU: the host has {}",
                                    model::format_ranks(without),
                                    layout.hosts[static_cast<std::size_t>(host)], gpus(host)),
                        "start one rank a GPU, or use --backend host"});
  }
  return layout;
}

} // namespace ncclprobe::launch
