// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"
#include "launch/supervisor/assembly.h"
#include "launch/supervisor/supervisor.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// What main reads from the outside world, once.
struct World {
  std::vector<std::string> arguments;   // argv
  std::vector<std::string> environment; // "NAME=value", less what torchrun sets for PyTorch
  std::map<std::string, std::string> environment_by_name;
  std::filesystem::path program_folder; // where ncclprobe itself lies
  bool speaks = true;                   // false on ranks other than 0 of a launched job
};

// True under mpirun, srun, torchrun and the like.
bool started_by_launcher(const World& world);
// False on the ranks other than 0 of a launched job.
bool is_first_rank(const World& world);

// True for an entry that torchrun sets for PyTorch (launcher.h). `ncclprobe record` passes it on.
bool is_torchruns_own(const World& world, const std::string& entry);

// Time limit of a worker that reports on the machine: a cold driver can take a minute.
inline constexpr std::chrono::seconds k_inventory_patience{120};

// Joins the supervisors of a run, with MPI only if its launcher started us. Errors: unavailable.
Result<std::unique_ptr<launch::Fleet>> join_fleet(const World& world);
launch::SupervisorReport report_of_this_host(const World& world);
// Chooses the worker (worker_choice.h), which may start one.
launch::WorkerProgram worker_program(const World& world);
// `program`, set to load these libraries; or another program in its place (`worker`).
launch::WorkerProgram with_libraries(launch::WorkerProgram program,
                                     const std::vector<model::Setting>& libraries);
// True if the user asked for a binding. `mpirun -np 2` binds each rank to one core by default. A
// worker has several busy threads, so only a requested binding is passed on.
bool bound_by_user(const World& world);
// The CPUs near the GPU of each of this supervisor's ranks.
std::map<int, std::vector<int>> cpus_near_gpus(const launch::Layout& layout,
                                               const std::vector<model::HostInventory>& hosts,
                                               int supervisor);

// True if each host has one supervisor: then one worker can drive all GPUs of a host.
bool one_supervisor_a_host(const launch::Layout& layout);

// What is known before the first trial: ranks, devices and backend. The same on all supervisors.
struct Session {
  launch::DeviceChoice seating; // set before it is opened
  std::unique_ptr<launch::Fleet> fleet;
  std::vector<launch::SupervisorReport> reports;
  std::vector<model::HostInventory> hosts;
  launch::BackendChoice backend;
  launch::Layout layout;
  launch::WorkerProgram worker;
  std::map<int, std::vector<int>> cpus_of_rank; // near its GPU, of this supervisor's ranks
  launch::HostCpus host_cpus;                   // of this supervisor's host
  // On the leader, for a resumed run: free memory on the fullest GPU when the run began.
  std::optional<std::uint64_t> device_bytes_at_begin;
};

// Joins the fleet (MPI only if a launcher started us), reads the plan into `options`, takes an
// inventory of each host and agrees on backend and layout. Errors: as launch/supervisor/assembly.h;
// on a fleet all supervisors fail alike. `session` holds the fleet even then, so that the caller
// knows which rank should print.
Result<void> open_session(const World& world, RunOptions& options, Session& session);

// Inventory and backend of this host alone, for `plan`, which only looks: it does not load or start
// libraries and worker programs that the plan file names. `gpus`: an imagined host with this many
// GPUs, about which nothing else is known.
Result<void> open_local_session(const World& world, RunOptions& options, Session& session,
                                std::optional<int> gpus = std::nullopt);

// Request for make_plan() from complete options (fill_defaults()). Errors: those of
// make_measurement().
Result<workload::PlanRequest> make_request(const RunOptions& options, const Session& session,
                                           const World& world);

// Free memory on the fullest of the used GPUs when the run began; nothing on the CPU.
std::optional<std::uint64_t> free_device_bytes(const Session& session);

// The topology's number of this GPU of the inventory (topology::Gpu::index). Nothing if unknown.
std::optional<int> topology_gpu(const model::HostInventory& host, int device);

} // namespace ncclprobe::cli
