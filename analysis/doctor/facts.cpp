// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/facts.h"

#include "base/name_ranks.h"
#include "topology/gpu_board.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

// Without the domain's leading zeros, in lower case.
std::string plain(const std::string& pci) {
  std::string text;
  for (char letter : pci)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  return text;
}

} // namespace

std::string driver_version(const model::Survey& survey) {
  const model::Library* driver = survey.inventory.library("cuda_driver");
  if (driver == nullptr || driver->version.starts_with("CUDA"))
    return "";
  return driver->version.substr(0, driver->version.find(' '));
}

std::string driver_cuda_version(const model::Survey& survey) {
  const model::Library* driver = survey.inventory.library("cuda_driver");
  std::size_t at = driver == nullptr ? std::string::npos : driver->version.find("CUDA ");
  if (at == std::string::npos)
    return "";
  std::string text = driver->version.substr(at + 5);
  return text.substr(0, text.find(')'));
}

std::vector<GpuInQuestion> gpus_in_question(const model::Survey& survey) {
  auto node = node_of(survey.inventory);
  return node ? std::move(node->gpus) : std::vector<GpuInQuestion>{};
}

std::string gpu_label(const model::GpuHealth& gpu) {
  return gpu.pci_bus_id.empty() ? fmt::format("GPU {}", gpu.index)
                                : fmt::format("GPU {} ({})", gpu.index, gpu.pci_bus_id);
}

std::string pcie_text(const model::GpuHealth& gpu) {
  return fmt::format("generation {} x{}, at most generation {} x{}", shown(gpu.pcie_generation),
                     shown(gpu.pcie_width), shown(gpu.most_pcie_generation),
                     shown(gpu.most_pcie_width));
}

topology::PcieState pcie_state(const model::GpuHealth& gpu, topology::Load load) {
  return topology::pcie_state(
      {gpu.pcie_generation, gpu.most_pcie_generation, gpu.pcie_width, gpu.most_pcie_width}, load);
}

std::string shown_watts(const std::optional<int>& milliwatts) {
  return milliwatts ? std::to_string(*milliwatts / 1000) : "?";
}

void note_untold(const model::GpuHealth& gpu, std::initializer_list<CheckInput> facts,
                 std::vector<std::string>& lines) {
  if (gpu.uuid.empty()) // a GPU that does not respond is a finding of its own
    return;
  std::string names;
  for (const CheckInput& fact : facts)
    if (!fact.told)
      names += (names.empty() ? "" : ", ") + std::string(fact.name);
  if (!names.empty())
    lines.push_back(fmt::format("{}: {}", gpu_label(gpu), names));
}

bool is_pcie_card(const std::string& gpu_name) {
  return topology::gpu_mounting({gpu_name}).board == topology::GpuBoard::card;
}

bool has_no_nvlink(const std::string& gpu_name) {
  return topology::gpu_mounting({gpu_name}).never_has_nvlinks;
}

void name_fewer(const std::vector<int>& group, std::vector<int>& named) {
  if (named.empty() || group.size() < named.size())
    named = group;
  else if (group.size() == named.size())
    named.insert(named.end(), group.begin(), group.end());
}

bool is_named(const ChosenAlgorithm& one) {
  return one.algorithm.find_first_of("0123456789") != 0;
}

bool is_graph(const SmokeTestCell& cell) {
  const auto* one = cell.label.collective();
  return one && one->launch == model::Launch::graph;
}

bool in_cluster(const model::GpuHealth& gpu) {
  return gpu.fabric_cluster.find_first_not_of("0-") != std::string::npos;
}

bool tells_fabric_state(const model::GpuHealth& gpu) {
  return !gpu.fabric_state.empty() && gpu.fabric_state != "not_supported";
}

std::size_t count_imex_channels(const model::DriverSurvey& driver) {
  return static_cast<std::size_t>(std::count_if(
      driver.device_files.begin(), driver.device_files.end(), [](const std::string& file) {
        return file.size() > k_imex_channels.size() && file.starts_with(k_imex_channels);
      }));
}

bool ended_before_its_cells(const SmokeTest& smoke_test) {
  using model::OutcomeKind;
  if (smoke_test.outcome.kind == OutcomeKind::ok ||
      smoke_test.outcome.kind == OutcomeKind::skipped ||
      smoke_test.outcome.kind == OutcomeKind::not_run)
    return false;
  // After a failed cell, later cells are not run.
  return smoke_test.cells.size() != 1 &&
         std::ranges::all_of(smoke_test.cells, [&](const SmokeTestCell& cell) {
           return cell.outcome == smoke_test.outcome;
         });
}

Symptom symptom_of(model::OutcomeKind kind) {
  switch (kind) {
  case model::OutcomeKind::wrong_data:
    return Symptom::wrong_data;
  case model::OutcomeKind::timed_out:
    return Symptom::hung;
  default:
    return Symptom::failed;
  }
}

// Interfaces are excluded: D18 judges them by more than their names.
workload::NcclPlace nccl_place(const Case& one, const model::Survey& survey) {
  workload::NcclPlace place;
  const model::Library* nccl = survey.inventory.library("nccl");
  if (nccl != nullptr && nccl->problem.empty())
    place.version = workload::parse_nccl_version(nccl->version);
  if (const model::HostSurvey* host = one.host_of(survey))
    place.has_rdma = std::ranges::any_of(
        host->rdma, [](const model::RdmaPort& port) { return port.state == "ACTIVE"; });
  for (const model::LookedFor& one_name : survey.process.looked_for)
    place.looked_for.emplace(one_name.name, one_name.found);
  return place;
}

int count_hosts(const Case& one) {
  std::set<model::HostInventory::Identity> hosts;
  for (const model::Survey& survey : one.surveys)
    hosts.insert(survey.inventory.identity());
  return static_cast<int>(hosts.size());
}

std::string ranks_with_host(const Case& one, const std::vector<int>& ranks) {
  std::string text = base::name_ranks(ranks);
  if (count_hosts(one) < 2)
    return text;
  std::vector<std::string> hosts;
  for (const model::Survey& survey : one.surveys)
    for (int rank : survey.ranks)
      if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end() &&
          std::find(hosts.begin(), hosts.end(), survey.inventory.hostname) == hosts.end())
        hosts.push_back(survey.inventory.hostname);
  return fmt::format("{} on {}", text, fmt::join(hosts, ", "));
}

bool same_pci(const std::string& one, const std::string& other) {
  return plain(one) == plain(other);
}

} // namespace ncclprobe::analysis::doctor
