// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/nccl_dump.h"

#include "base/atomic_file.h"
#include "launch/cli/common/private_folder.h"
#include "workload/collective_benchmark.h"

#include <filesystem>

namespace ncclprobe::cli {
namespace {

constexpr std::int64_t k_start_limit_ns = 60'000'000'000;

Result<model::TrialSpec> trial_on(int gpus, const std::vector<model::Setting>& libraries,
                                  const std::filesystem::path& folder) {
  model::TrialSpec spec;
  spec.name = "topology";
  spec.backend = "nvidia";
  spec.ranks = gpus;
  spec.libraries = libraries;
  spec.startup_deadline_ns = k_start_limit_ns;
  spec.teardown_deadline_ns = k_start_limit_ns / 3;
  spec.process.common = {{"NCCL_TOPO_DUMP_FILE", (folder / "topology.xml").string()},
                         {"NCCL_GRAPH_DUMP_FILE", (folder / "graphs.xml").string()}};
  model::Timing once;
  once.warmups = 0;
  once.iterations = 1;
  once.batches = 1;
  workload::CollectiveRequest request;
  request.bytes = 1024;
  request.ranks = gpus;
  NCCLPROBE_TRY_ASSIGN(model::Cell cell, workload::make_collective_cell(request, once));
  spec.cells.push_back(std::move(cell));
  return spec;
}

launch::Layout layout_of(const model::HostInventory& host) {
  launch::Layout layout;
  layout.hosts = {host.hostname};
  for (std::size_t i = 0; i < host.gpus.size(); ++i)
    layout.placements.push_back({static_cast<int>(i), 0, 0, static_cast<int>(i)});
  return layout;
}

} // namespace

Result<NcclDump> dump_nccl_topology(const launch::WorkerProgram& worker,
                                    const std::vector<model::Setting>& libraries,
                                    const model::HostInventory& host) {
  if (host.gpus.empty() || !host.nvidia_problem.empty())
    return fail(Errc::unavailable, "{}",
                host.nvidia_problem.empty() ? "no GPU" : host.nvidia_problem);
  PrivateFolder folder;
  if (folder.path().empty())
    return fail(Errc::io, "no folder for temporary files can be made");
  auto gpus = static_cast<int>(host.gpus.size());
  NCCLPROBE_TRY_ASSIGN(model::TrialSpec spec, trial_on(gpus, libraries, folder.path()));

  auto fleet = launch::make_local_fleet();
  launch::SupervisorOptions how;
  how.program = worker;
  how.devices_per_worker = gpus;
  launch::Supervisor supervisor(*fleet, layout_of(host), how);
  model::TrialRecord record = supervisor.run(spec);
  supervisor.release();

  // The dumps are written before anything is sent, so they count even if the rest went wrong.
  NcclDump dump;
  dump.topology = base::read_file(folder.path() / "topology.xml").value_or("");
  dump.graphs = base::read_file(folder.path() / "graphs.xml").value_or("");
  if (dump.topology.empty())
    return fail(Errc::failed, "it wrote no topology; the trial: {}",
                record.outcome.reason.empty() ? std::string(to_string(record.outcome.kind))
                                              : record.outcome.reason);
  return dump;
}

} // namespace ncclprobe::cli
