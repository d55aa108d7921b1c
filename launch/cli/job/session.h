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

// What main knows of the outside world, read once.
struct World {
  std::vector<std::string> arguments;   // argv
  std::vector<std::string> environment; // "NAME=value", unchanged
  std::map<std::string, std::string> environment_by_name;
  std::filesystem::path program_folder; // where ncclprobe itself lies
  bool speaks = true;                   // false on ranks other than 0 of a launched job
};

// mpirun, srun or their like.
bool started_by_launcher(const World& world);

// What a worker that reports on the machine is given: a cold driver can take a minute.
inline constexpr std::chrono::seconds k_inventory_patience{120};

// The pieces that sessions are made of.
// MPI only if a launcher started us. Errors: unavailable.
base::Result<std::unique_ptr<launch::Fleet>> join_fleet(const World& world);
launch::SupervisorReport report_of_this_host(const World& world);
launch::WorkerProgram worker_program(const World& world);
// `program` told to load these, or another program in its place (`worker`).
launch::WorkerProgram with_libraries(launch::WorkerProgram program,
                                     const std::vector<model::Setting>& libraries);
// `mpirun -np 2` binds each rank to one core unless told otherwise. A worker has several busy
// threads: only a binding that the user asked for is handed on.
bool bound_by_user(const World& world);
// Near their GPUs, of this supervisor's ranks.
std::map<int, std::vector<int>>
cpus_near_gpus(const launch::Layout& layout, const std::vector<model::Host>& hosts, int supervisor);

// Then one worker can drive all GPUs of a host.
bool one_supervisor_a_host(const launch::Layout& layout);

// What is known before the first trial: who takes part, on what, with which backend. The same on
// all supervisors.
struct Session {
  launch::DeviceChoice seating; // set before it is opened
  std::unique_ptr<launch::Fleet> fleet;
  std::vector<launch::SupervisorReport> reports;
  std::vector<model::Host> hosts;
  launch::BackendChoice backend;
  launch::Layout layout;
  launch::WorkerProgram worker;
  std::map<int, std::vector<int>> cpus_of_rank; // near its GPU, of this supervisor's ranks
  launch::HostCpus host_cpus;                   // of this supervisor's host
  // Of a run that is resumed, on the leader: what was free on the fullest GPU when it was begun.
  std::optional<std::uint64_t> device_bytes_at_begin;
};

// Joins the fleet (MPI only if a launcher started us), reads the plan into `options`, takes
// inventory of each host and agrees on backend and layout. Errors: as launch/supervisor/assembly.h;
// on a fleet all supervisors fail alike. `fleet` is kept in `session` even then, so that the caller
// can tell who should speak.
base::Result<void> open_session(const World& world, RunOptions& options, Session& session);

// Inventory and backend of this host alone, for `plan`, which only looks: libraries and a worker
// program that the plan file names are not loaded or started for it.
// `gpus`: of an imagined host with so many GPUs, of which nothing else is known.
base::Result<void> open_local_session(const World& world, RunOptions& options, Session& session,
                                      std::optional<int> gpus = std::nullopt);

// Request for make_plan() from complete options (fill_defaults()). Errors: those of
// make_measurement().
base::Result<workload::PlanRequest> make_request(const RunOptions& options, const Session& session,
                                                 const World& world);

// Free on the fullest of the GPUs that are used, when the run was begun; nothing on the CPU.
std::optional<std::uint64_t> free_device_bytes(const Session& session);

// What the topology calls this GPU of the inventory (topology::Gpu::index). Nothing if it knows it
// not.
std::optional<int> topology_gpu(const model::Host& host, int device);

} // namespace ncclprobe::cli
