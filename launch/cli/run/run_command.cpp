// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/run_command.h"

#include "launch/cli/common/command_end.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/run/run_job.h"

#include <filesystem>

namespace ncclprobe::cli {

int run_command(const World& world, RunOptions options) {
  // Parts and traces lie beside the run file itself.
  std::error_code trouble;
  if (std::filesystem::is_symlink(options.resume_file, trouble))
    if (auto real = std::filesystem::canonical(options.resume_file, trouble); !trouble)
      options.resume_file = real.string();
  Session session;
  Result<void> opened = open_session(world, options, session);
  bool leader = session.fleet ? session.fleet->rank() == 0 : world.speaks;
  if (!opened)
    return leader ? give_up(opened.error()) : exit_code_of(opened.error());
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  auto plan = [&] {
    return make_request(options, session, world).and_then([](const auto& request) {
      return workload::make_plan(request);
    });
  };
  return run_job(world, session, {options, plan, true});
}

} // namespace ncclprobe::cli
