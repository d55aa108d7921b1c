// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/p2p/p2p_command.h"

#include "launch/cli/common/command_end.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/run/run_job.h"
#include "workload/p2p_plan.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using model::P2pMode;

// The options that sessions and runs need.
RunOptions run_options_of(const P2pOptions& options) {
  RunOptions run;
  static_cast<MeasuringOptions&>(run) = options;
  run.repeats = options.repeats.value_or(1);
  run.prepare = "off";
  run.no_sweep = true;
  return run;
}

Result<P2pMode> choose_mode(const P2pOptions& options, const Session& session) {
  bool possible = one_supervisor_a_host(session.layout);
  if (session.backend.name == "host") {
    if (options.mode == P2pMode::ipc)
      return base::fail(Error{Errc::invalid_argument,
                              "--mode ipc is for GPUs: processes on the CPU exchange messages",
                              "leave --mode out"});
    return P2pMode::direct;
  }
  if (options.mode == P2pMode::direct && !possible)
    return base::fail(Error{Errc::mismatch,
                            "--mode direct: several processes were started on one host, and one "
                            "has to drive all its GPUs",
                            "start one per host (mpirun --map-by ppr:1:node), or use --mode ipc"});
  return options.mode.value_or(possible ? P2pMode::direct : P2pMode::ipc);
}

workload::P2pRequest request_of(const P2pOptions& options, const Session& session, P2pMode mode,
                                const RunOptions& run) {
  workload::P2pRequest request;
  request.backend = session.backend.name;
  request.host_of_rank = session.layout.host_of_rank();
  request.mode = mode;
  if (options.methods)
    request.methods = *options.methods;
  if (options.directions)
    request.directions = *options.directions;
  if (options.sizes)
    request.sizes = *options.sizes;
  request.repeats = *run.repeats;
  request.seed = *run.seed;
  request.libraries = options.libraries;
  request.cell_deadline_ns = *run.cell_deadline_ns;
  request.startup_deadline_ns = *run.startup_deadline_ns;
  request.memory_bytes = free_device_bytes(session);
  return request;
}

} // namespace

int p2p_command(const World& world, const P2pOptions& options) {
  RunOptions run = run_options_of(options);
  Session session;
  session.seating.share = launch::DeviceChoice::Share::all_gpus;
  session.seating.devices = options.devices.value_or(std::vector<int>{});
  Result<void> opened = open_session(world, run, session);
  bool leader = session.fleet ? session.fleet->rank() == 0 : world.speaks;
  if (!opened)
    return leader ? give_up(opened.error()) : exit_code_of(opened.error());
  Result<P2pMode> mode = choose_mode(options, session); // the same everywhere
  if (!mode)
    return leader ? give_up(mode.error()) : exit_code_of(mode.error());
  bool one_process = *mode == P2pMode::direct && session.backend.name != "host";
  run.devices_per_worker = one_process ? session.layout.ranks() : 1;
  fill_defaults(run, session.backend.name, session.hosts, session.layout.ranks());
  Job job;
  job.options = run;
  job.can_be_resumed = false;
  job.plan = [&] { return workload::make_p2p_plan(request_of(options, session, *mode, run)); };
  return run_job(world, session, job);
}

} // namespace ncclprobe::cli
