// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_command.h"

#include "base/output_file.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/fleet/fleet_job.h"
#include "launch/cli/job/default_job.h"

namespace ncclprobe::cli {
namespace {

// Large enough to fill the links, and done in milliseconds.
constexpr std::uint64_t k_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t k_bytes_on_cpu = std::uint64_t{4} << 20;
constexpr std::int64_t k_budget_ns = 1'000'000'000;

// Before anything is started.
Result<void> check_files(const FleetOptions& options) {
  std::error_code ignored;
  if (!options.baseline.empty() && !std::filesystem::exists(options.baseline, ignored))
    return fail(Errc::not_found, "there is no run at {}", options.baseline.string());
  return options.output
             ? base::check_output_file(
                   {*options.output, options.force ? base::Overwrite::yes : base::Overwrite::no})
             : Result<void>();
}

} // namespace

int fleet_command(const World& world, FleetOptions options) {
  if (auto possible = check_files(options); !possible)
    return world.speaks ? give_up(possible.error()) : exit_code_of(possible.error());
  options.no_sweep = true;
  options.repeats = 1;
  options.proof = workload::Proof::off;
  options.prepare = "off";
  options.collectives = {options.collective};
  Session session;
  const Result<void> opened = open_session(world, options, session);
  const bool leader = session.fleet ? session.fleet->rank() == 0 : world.speaks;
  if (!opened)
    return leader ? give_up(opened.error()) : exit_code_of(opened.error());
  auto nodes = fleet_nodes(session.layout.hosts, session.layout.host_of_rank(),
                           options.ranks_per_node); // the same everywhere
  if (!nodes)
    return leader ? give_up(nodes.error()) : exit_code_of(nodes.error());
  options.sizes = {
      options.bytes.value_or(session.backend.name == "host" ? k_bytes_on_cpu : k_bytes)};
  if (!options.budget_ns)
    options.budget_ns = k_budget_ns;
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  FleetJob check(world, session, std::move(options), std::move(*nodes));
  return run_job(world, session, check.job());
}

} // namespace ncclprobe::cli
