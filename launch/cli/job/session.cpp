// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/session.h"

#include "base/atomic_file.h"
#include "base/version.h"
#include "launch/cli/job/compared_libraries.h"
#include "launch/cli/job/named_again.h"
#include "launch/cli/job/nccl_places.h"
#include "launch/cli/job/plan_file.h"
#include "launch/cli/job/resume.h"
#include "launch/cli/job/worker_choice.h"
#include "launch/cli/job/workload_job.h"
#include "launch/supervisor/cpu_list.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

// Gives a child all CPUs that the job may use.
launch::Affinity unbound(const World& world) {
  return world.environment_by_name.contains("OMPI_MCA_orte_bound_at_launch")
             ? launch::Affinity::before_binding
             : launch::Affinity::inherited;
}

launch::Affinity affinity_of_workers(const World& world) {
  return bound_by_user(world) ? launch::Affinity::inherited : unbound(world);
}

std::vector<int> cpus_near(const launch::RankPlacement& placement,
                           const model::HostInventory& host) {
  return launch::cpus_near(host.gpus.at(placement.device).pci_bus_id);
}

// Some nodes have only memory.
std::vector<std::vector<int>> cpus_of_nodes(const model::HostInventory& host) {
  std::vector<std::vector<int>> nodes;
  for (const auto& node : host.topology.numa)
    if (node.cpus.value && !node.cpus.value->empty())
      nodes.push_back(*node.cpus.value);
  return nodes;
}

// On the CPU backend no device determines which CPUs are near, so the ranks of a host take its NUMA
// nodes in turn.
launch::HostCpus host_cpus(const World& world, const Session& session) {
  launch::HostCpus found{unbound(world), {}};
  const auto& placements = session.layout.placements;
  auto own =
      std::ranges::find(placements, session.fleet->rank(), &launch::RankPlacement::supervisor);
  if (own == placements.end())
    return found;
  const model::HostInventory& host = session.hosts.at(own->host);
  const std::vector<std::vector<int>> nodes = cpus_of_nodes(host);
  for (const launch::RankPlacement& placement : placements) {
    if (placement.host != own->host)
      continue;
    std::vector<int>& near = found.near[placement.rank];
    if (session.backend.name == "nvidia")
      near = cpus_near(placement, host);
    else if (!nodes.empty())
      near = nodes[(found.near.size() - 1) % nodes.size()];
  }
  return found;
}

void add_inventory(const launch::WorkerProgram& worker,
                   const std::vector<model::Setting>& libraries, const std::string& backend,
                   launch::SupervisorReport& report) {
  launch::WorkerProgram program = with_libraries(worker, libraries);
  if (backend == "host" || backend == "synthetic")
    program.arguments.push_back("--no-gpus");
  auto host = launch::take_inventory(program, k_inventory_patience);
  if (host)
    report.inventory = std::move(*host);
  else
    report.problem = host.error();
}

Result<std::vector<launch::SupervisorReport>> exchange(launch::Fleet& fleet,
                                                       const launch::SupervisorReport& own) {
  std::vector<launch::SupervisorReport> reports;
  NCCLPROBE_TRY_ASSIGN(const auto texts, fleet.all_gather(encode_report(own)));
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(auto report, launch::decode_report(text));
    reports.push_back(std::move(report));
  }
  return reports;
}

// A problem of this supervisor alone. The others learn of it in the first exchange, so that no
// supervisor leaves while another waits for it.
std::optional<Error> own_problem(const World& world, const RunOptions& options,
                                 const Result<void>& read, int fleet_size) {
  if (!read)
    return read.error();
  if (auto checked = launch::check_launcher(world.environment_by_name, fleet_size); !checked)
    return checked.error();
  if (fleet_size > 1 && options.devices_per_worker.value_or(1) > 1)
    return Error{Errc::invalid_argument,
                 "--devices-per-worker is for runs without mpirun: each MPI rank drives one device",
                 "leave out one of the two"};
  return std::nullopt;
}

// The run file is on the leader's host, so only the leader reads its plan, and sends it to the
// others in the first exchange.
Result<void> read_begun_run(const RunOptions& options, Session& session, std::string& plan) {
  NCCLPROBE_TRY_ASSIGN(BegunRun begun, begun_run(options.resume_file));
  RunOptions planned;
  NCCLPROBE_TRY(apply_plan_text(begun.plan, "the plan of " + options.resume_file, planned));
  NCCLPROBE_TRY(check_named(options.resume_file, planned, options));
  session.device_bytes_at_begin = begun.free_device_bytes;
  plan = std::move(begun.plan);
  return {};
}

// Every supervisor reads the plan file.
Result<void> read_plan(RunOptions& options, Session& session, std::string& plan) {
  if (!options.resume_file.empty())
    return session.fleet->rank() == 0 ? read_begun_run(options, session, plan) : Result<void>();
  if (options.plan_file.empty())
    return {};
  NCCLPROBE_TRY_ASSIGN(plan, apply_plan_file(options.plan_file, options));
  return {};
}

Result<void> take_leaders_plan(RunOptions& options, Session& session,
                               launch::SupervisorReport& own) {
  own.plan = session.reports.front().plan;
  for (launch::SupervisorReport& report : session.reports)
    report.plan = own.plan;
  NCCLPROBE_TRY(launch::check_agreement(session.reports));
  drop_named(options);
  NCCLPROBE_TRY(apply_plan_text(own.plan, "the plan of " + options.resume_file, options));
  return check_workload(options);
}

// The purpose of a session: to run the plan, or only to look at it.
enum class Purpose { run, look };

model::HostInventory imagined_host(int gpus) {
  model::HostInventory host;
  host.hostname = "imagined";
  host.gpus.resize(gpus);
  for (int index = 0; model::CudaDevice & gpu : host.gpus)
    gpu.index = index++;
  return host;
}

// `gpus`: GPUs of an imagined host, which needs no inventory.
Result<void> agree(const World& world, RunOptions& options, Session& session, Purpose purpose,
                   std::optional<int> gpus = std::nullopt) {
  launch::SupervisorReport own = report_of_this_host(world);
  const std::vector<model::Setting> named_by_user = options.libraries;
  Result<void> read = read_plan(options, session, own.plan);
  if (read && options.resume_file.empty()) // otherwise the plan comes later
    read = check_workload(options);
  own.problem = own_problem(world, options, read, session.fleet->size());
  NCCLPROBE_TRY_ASSIGN(session.reports, exchange(*session.fleet, own));
  if (!options.resume_file.empty())
    NCCLPROBE_TRY(take_leaders_plan(options, session, own));
  NCCLPROBE_TRY(launch::check_agreement(session.reports));

  session.worker = worker_program(world);
  std::vector<int> hosts = launch::host_numbers(session.reports);
  auto me = static_cast<std::size_t>(session.fleet->rank());
  bool first_here = std::ranges::find(hosts, hosts[me]) == hosts.begin() + session.fleet->rank();
  if (gpus)
    own.inventory = imagined_host(*gpus);
  else if (first_here)
    add_inventory(session.worker, purpose == Purpose::run ? options.libraries : named_by_user,
                  options.backend.value_or("auto"), own);
  if (auto there = check_library_files(options.compared_libraries); !there && !own.problem)
    own.problem = there.error(); // sent to all in the next exchange
  NCCLPROBE_TRY_ASSIGN(session.reports, exchange(*session.fleet, own));
  NCCLPROBE_TRY(launch::check_agreement(session.reports));
  for (const launch::SupervisorReport& report : session.reports)
    if (report.inventory)
      session.hosts.push_back(*report.inventory);
  NCCLPROBE_TRY_ASSIGN(session.backend,
                       launch::choose_backend(options.backend.value_or("auto"), session.hosts));
  // `mpirun -np 1` means one rank; without mpirun one supervisor drives them all.
  std::optional<int> ranks = options.ranks;
  if (options.workload.rank_counts && session.fleet->size() > 1)
    ranks.reset(); // the numbers are those of sub-sets
  bool whole_hosts = session.seating.share == launch::DeviceChoice::Share::all_gpus;
  if (!ranks && started_by_launcher(world) && session.fleet->size() == 1 && !whole_hosts)
    ranks = 1;
  NCCLPROBE_TRY_ASSIGN(session.layout,
                       launch::make_layout(session.reports, session.hosts, session.backend.name,
                                           ranks, session.seating));
  if (gpus)
    return {}; // an imagined host has no CPUs either
  if (session.backend.name == "nvidia" && !bound_by_user(world))
    session.cpus_of_rank = cpus_near_gpus(session.layout, session.hosts, session.fleet->rank());
  session.host_cpus = host_cpus(world, session);
  return {};
}

} // namespace

bool bound_by_user(const World& world) {
  auto policy = world.environment_by_name.find("OMPI_MCA_hwloc_base_binding_policy");
  return policy != world.environment_by_name.end() && policy->second != "none";
}

launch::SupervisorReport report_of_this_host(const World& world) {
  launch::SupervisorReport report;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  report.hostname = name;
  report.boot_id = base::read_file("/proc/sys/kernel/random/boot_id").value_or(report.hostname);
  report.version = base::version_and_build();
  report.arguments.assign(world.arguments.begin() + 1, world.arguments.end());
  for (const auto& [variable, value] : world.environment_by_name)
    if (model::bears_on_communication(variable))
      report.environment.push_back({variable, value});
  return report;
}

launch::WorkerProgram worker_program(const World& world) {
  WorkerChoice choice = choose_worker(world.program_folder, world.environment);
  return {std::move(choice.program),
          {},
          world.environment,
          affinity_of_workers(world),
          std::move(choice.because)};
}

launch::WorkerProgram with_libraries(launch::WorkerProgram program,
                                     const std::vector<model::Setting>& libraries) {
  for (const model::Setting& library : libraries)
    if (library.name == model::k_worker_program)
      program.path = library.value;
    else
      program.arguments.insert(program.arguments.end(),
                               {"--library", library.name + "=" + library.value});
  return program;
}

std::map<int, std::vector<int>> cpus_near_gpus(const launch::Layout& layout,
                                               const std::vector<model::HostInventory>& hosts,
                                               int supervisor) {
  std::map<int, std::vector<int>> cpus_of_rank;
  for (const launch::RankPlacement& placement : layout.placements) {
    if (placement.supervisor == supervisor)
      cpus_of_rank[placement.rank] = cpus_near(placement, hosts.at(placement.host));
  }
  return cpus_of_rank;
}

Result<std::unique_ptr<launch::Fleet>> join_fleet(const World& world) {
  return launch::join_fleet(world.environment_by_name);
}

bool started_by_launcher(const World& world) {
  return launch::launcher_of(world.environment_by_name).value_or(launch::Launcher::none) !=
         launch::Launcher::none;
}

bool is_torchruns_own(const World& world, const std::string& entry) {
  return launch::is_torchruns_own(world.environment_by_name, entry);
}

bool is_first_rank(const World& world) {
  return launch::is_first_rank(world.environment_by_name);
}

Result<void> open_session(const World& world, RunOptions& options, Session& session) {
  NCCLPROBE_TRY_ASSIGN(session.fleet, join_fleet(world));
  return agree(world, options, session, Purpose::run);
}

Result<void> open_local_session(const World& world, RunOptions& options, Session& session,
                                std::optional<int> gpus) {
  session.fleet = launch::make_local_fleet();
  return agree(world, options, session, Purpose::look, gpus);
}

namespace {

workload::MachineShape machine_of(const Session& session) {
  std::map<int, int> ranks_of_host;
  for (const launch::RankPlacement& placement : session.layout.placements)
    ++ranks_of_host[placement.host];
  workload::MachineShape machine;
  machine.nodes = static_cast<int>(ranks_of_host.size());
  for (const auto& [host, ranks] : ranks_of_host)
    machine.ranks_per_node = std::max(machine.ranks_per_node, ranks);
  // Switches are not detected: linked GPUs count as capable, so nothing is left out by mistake.
  for (const model::HostInventory& host : session.hosts)
    for (const model::CudaDevice& gpu : host.gpus) {
      bool able = gpu.nvlinks.value_or(1) > 0 && std::atof(gpu.compute_capability.c_str()) >= 9.0;
      machine.nvls = machine.nvls.value_or(false) || able;
    }
  return machine;
}

} // namespace

std::optional<std::uint64_t> free_device_bytes(const Session& session) {
  std::optional<std::uint64_t> least = session.device_bytes_at_begin;
  if (!least && session.backend.name == "nvidia")
    for (const launch::RankPlacement& placement : session.layout.placements) {
      const model::HostInventory& host = session.hosts.at(placement.host);
      const model::CudaDevice& gpu = host.gpus.at(placement.device);
      if (gpu.memory_bytes > 0) // otherwise it is imagined
        least = std::min(least.value_or(gpu.free_bytes), gpu.free_bytes);
    }
  return least;
}

std::optional<int> topology_gpu(const model::HostInventory& host, int device) {
  const topology::Gpu* gpu = host.topology.gpu_at(host.gpus.at(device).pci_bus_id);
  return gpu ? std::optional(gpu->index) : std::nullopt;
}

namespace {

void request_collectives(const RunOptions& options, workload::PlanRequest& request) {
  request.collectives = *options.collectives;
  request.sizes = *options.sizes;
  request.types = *options.types;
  request.ops = *options.ops;
  request.placements = *options.placements;
  request.counts = options.counts.value_or(std::vector<std::uint64_t>{});
  request.roots = *options.roots;
  request.splits = *options.splits;
  request.streams = *options.streams;
  request.offsets = *options.offsets;
  request.launches = launches(options);
  for (int& priority : request.priorities = options.workload.priorities.value_or(std::vector{0}))
    priority = -priority; // in CUDA a lower number is more urgent
  request.launch_costs = options.launch_costs;
  request.memory = options.registered ? model::Memory::registered : model::Memory::plain;
}

std::vector<model::Setting> all_settings(const RunOptions& options) {
  std::vector<model::Setting> all;
  for (const workload::Axis& axis : options.axes)
    for (const std::string& value : axis.values)
      all.push_back({axis.name, value});
  for (const auto& combination : options.settings)
    all.insert(all.end(), combination.begin(), combination.end());
  for (const auto& [rank, own] : options.per_rank)
    all.insert(all.end(), own.begin(), own.end());
  return all;
}

} // namespace

Result<workload::PlanRequest> make_request(const RunOptions& options, const Session& session,
                                           const World& world) {
  workload::PlanRequest request;
  request.backend = session.backend.name;
  request.ranks = session.layout.ranks();
  if (options.workload.pattern == model::StepPattern::replay) {
    // The command makes the cells, from a capture.
  } else if (options.workload.pattern) {
    NCCLPROBE_TRY_ASSIGN(request.steps, make_measurement(options, session));
  } else {
    request_collectives(options, request);
  }
  request.timing = {*options.warmups,
                    *options.iterations,
                    *options.batches,
                    options.budget_ns.value_or(0),
                    options.target_interval.value_or(0),
                    *options.max_batches,
                    *options.mode};
  request.cell_deadline_ns = *options.cell_deadline_ns;
  request.startup_deadline_ns = *options.startup_deadline_ns;
  request.axes = options.axes;
  request.settings = options.settings;
  request.in_process = options.in_process;
  request.per_rank = options.per_rank;
  request.libraries = options.libraries;
  request.compared_libraries = options.compared_libraries;
  request.cpu_affinities = options.cpu_affinities.value_or(std::vector<std::string>{});
  request.repeats = *options.repeats;
  request.seed = *options.seed;
  request.environment = world.environment_by_name;
  request.overrides = options.overrides;
  request.machine = machine_of(session);
  request.nccl_places = nccl_places(session, world, all_settings(options));
  request.trace = options.trace.value_or(model::TraceLevel::off);
  request.proof = options.proof.value_or(workload::Proof::automatic);
  return request;
}

bool one_supervisor_a_host(const launch::Layout& layout) {
  std::set<std::pair<int, int>> pairs; // of host and supervisor
  std::set<int> hosts;
  for (const launch::RankPlacement& placement : layout.placements) {
    pairs.insert({placement.host, placement.supervisor});
    hosts.insert(placement.host);
  }
  return pairs.size() == hosts.size();
}

} // namespace ncclprobe::cli
