// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_command.h"

#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/tune/tune_job.h"

namespace ncclprobe::cli {
namespace {

int show_plan(const World& world, TuneOptions options) {
  Session session;
  if (auto opened = open_local_session(world, options, session); !opened)
    return give_up(opened.error());
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  TuneJob tune(world, session, options);
  return tune.show_prepared();
}

} // namespace

int tune_command(const World& world, TuneOptions options) {
  options.no_sweep = true;
  if (options.dry_run)
    return world.speaks ? show_plan(world, std::move(options)) : base::k_exit_ok;
  Session session;
  Result<void> opened = open_session(world, options, session);
  const bool leader = session.fleet ? session.fleet->rank() == 0 : world.speaks;
  if (!opened)
    return leader ? give_up(opened.error()) : exit_code_of(opened.error());
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  TuneJob tune(world, session, options);
  return run_job(world, session, tune.job());
}

} // namespace ncclprobe::cli
