// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/replay/replay_command.h"

#include "base/output_file.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/run/run_job.h"
#include "workload/replay_step.h"

namespace ncclprobe::cli {
namespace {

Result<workload::Plan> plan_of(const ReplayOptions& options, const Session& session,
                               const World& world) {
  if (options.output) // before a large capture is read
    NCCLPROBE_TRY(base::check_output_file(
        {*options.output, options.force ? base::Overwrite::yes : base::Overwrite::no}));
  const int ranks = session.layout.ranks();
  NCCLPROBE_TRY_ASSIGN(model::CapturedStep step, step_to_replay(options.job, ranks));
  NCCLPROBE_TRY_ASSIGN(workload::PlanRequest request, make_request(options, session, world));
  NCCLPROBE_TRY_ASSIGN(request.cells, workload::make_replay_cells(
                                          step, step.replayed, ranks, request.timing,
                                          request.cell_deadline_ns, free_device_bytes(session)));
  NCCLPROBE_TRY_ASSIGN(workload::Plan plan, workload::make_plan(request));
  plan.captured.push_back(std::move(step));
  return plan;
}

} // namespace

int replay_command(const World& world, ReplayOptions options) {
  Session session;
  Result<void> opened = open_session(world, options, session);
  const bool leader = session.fleet ? session.fleet->rank() == 0 : world.speaks;
  if (!opened)
    return leader ? give_up(opened.error()) : exit_code_of(opened.error());
  options.workload.pattern = model::StepPattern::replay;
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  Job job;
  job.options = options;
  job.can_be_resumed = false;
  job.plan = [&] { return plan_of(options, session, world); };
  return run_job(world, session, job);
}

} // namespace ncclprobe::cli
