// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_live.h"

#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "launch/cli/topo/nccl_dump.h"
#include "model/document.h"
#include "topology/merge.h"
#include "topology/read/nccl_xml.h"

#include <algorithm>
#include <map>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

// One supervisor's part.
struct Part {
  std::string cpus; // that this process may run on
  std::optional<model::HostInventory> inventory;
  std::vector<std::string> remarks;
};
NCCLPROBE_FIELDS(Part, cpus, inventory, remarks)

Result<std::vector<launch::SupervisorReport>> introduce(const World& world, LiveSight& live) {
  std::vector<launch::SupervisorReport> reports;
  NCCLPROBE_TRY_ASSIGN(const auto texts,
                       live.fleet->all_gather(encode_report(report_of_this_host(world))));
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(auto report, launch::decode_report(text));
    reports.push_back(std::move(report));
  }
  NCCLPROBE_TRY(launch::check_agreement(reports));
  return reports;
}

// A broken driver must not hide the rest of the machine.
model::HostInventory inventory(const LiveSight& live, const TopoOptions& options,
                               std::vector<std::string>& remarks) {
  launch::WorkerProgram program = with_libraries(live.worker, options.libraries);
  if (options.cuda == "auto" && options.record.empty())
    program.arguments.push_back("--links");
  auto host = launch::take_inventory(program, k_inventory_patience);
  if (host)
    return std::move(*host);
  const std::string problem = host.error().text();
  program.arguments.push_back("--no-gpus");
  host = launch::take_inventory(program, k_inventory_patience);
  remarks.push_back(host ? "examined without the GPU libraries: " + problem
                         : "nothing was examined: " + host.error().text());
  return host ? std::move(*host) : model::HostInventory{};
}

void add_nccl(const TopoOptions& options, LiveSight& live, std::vector<std::string>& remarks) {
  Result<NcclDump> dump = dump_nccl_topology(live.worker, options.libraries, live.own);
  if (!dump) {
    remarks.push_back("NCCL could not be asked: " + dump.error().text());
    return;
  }
  live.nccl_topology = dump->topology;
  live.nccl_graphs = dump->graphs;
  auto machine = topology::read_nccl_xml(dump->topology, "NCCL's topology");
  if (!machine || machine->hosts.size() != 1) {
    remarks.push_back(machine ? "NCCL sees this host as several hosts" : machine.error().text());
    return;
  }
  topology::Merged merged = topology::merge_sources({live.own.topology, machine->hosts.front()});
  live.own.topology = std::move(merged.host);
  auto& known = live.own.contradictions;
  known.insert(known.end(), merged.contradictions.begin(), merged.contradictions.end());
}

bool asks_nccl(const TopoOptions& options) {
  return options.nccl == "on" || (options.nccl == "auto" && !options.record.empty());
}

// Which GPU each rank would drive, by its place among the ranks of its host.
void locate_ranks(const std::vector<Part>& parts, const std::vector<int>& hosts,
                  const std::vector<model::HostInventory>& inventories, Sight& sight) {
  std::map<int, std::size_t> next;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const model::HostInventory& host = inventories.at(hosts[rank]);
    std::size_t device = next[hosts[rank]]++;
    if (device >= host.gpus.size())
      continue;
    if (auto gpu = topology_gpu(host, static_cast<int>(device)))
      sight.ranks.push_back(
          {static_cast<int>(rank), hosts[rank], *gpu, base::parse_number_list(parts[rank].cpus)});
  }
}

} // namespace

Result<Sight> look_around(const World& world, const TopoOptions& options, LiveSight& live) {
  NCCLPROBE_TRY_ASSIGN(live.fleet, join_fleet(world));
  live.worker = worker_program(world);
  NCCLPROBE_TRY_ASSIGN(auto reports, introduce(world, live));
  std::vector<int> hosts = launch::host_numbers(reports);
  auto me = static_cast<std::size_t>(live.fleet->rank());
  live.first_here = std::ranges::find(hosts, hosts[me]) == hosts.begin() + live.fleet->rank();

  Part own;
  own.cpus = base::format_number_list(base::allowed_cpus());
  if (live.first_here) {
    live.own = inventory(live, options, own.remarks);
    if (asks_nccl(options))
      add_nccl(options, live, own.remarks);
    own.inventory = live.own;
  }
  std::vector<Part> parts;
  NCCLPROBE_TRY_ASSIGN(const auto texts,
                       live.fleet->all_gather(base::write_json(own), k_look_patience));
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(Part part, base::parse_json<Part>(text));
    parts.push_back(std::move(part));
  }

  Sight sight;
  std::vector<model::HostInventory> inventories;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    for (const std::string& remark : parts[rank].remarks)
      sight.remarks.push_back(reports[rank].hostname + ": " + remark);
    if (!parts[rank].inventory)
      continue;
    const model::HostInventory& host = *parts[rank].inventory;
    inventories.push_back(host);
    sight.machine.hosts.push_back(host.topology);
    sight.contradictions.push_back(host.contradictions);
    if (host.gpus.empty() && !host.nvidia_problem.empty())
      sight.remarks.push_back(fmt::format("{}: no GPU: {}", host.hostname, host.nvidia_problem));
  }
  if (started_by_launcher(world))
    locate_ranks(parts, hosts, inventories, sight);
  return sight;
}

} // namespace ncclprobe::cli
