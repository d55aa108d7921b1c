// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe: supervises trials of multi-GPU communication. Composition only.
#include "base/console.h"
#include "base/exit_code.h"
#include "base/process_start.h"
#include "base/resource_limits.h"
#include "base/version.h"
#include "cli/command_end.h"
#include "cli/doctor_command.h"
#include "cli/models_command.h"
#include "cli/options.h"
#include "cli/p2p_command.h"
#include "cli/plan_command.h"
#include "cli/run_command.h"
#include "cli/topo_command.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace {

using namespace ncclprobe;

cli::World read_world(int argc, char** argv) {
  cli::World world;
  world.arguments.assign(argv, argv + argc);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    world.environment.emplace_back(*entry);
    const std::string& text = world.environment.back();
    std::size_t equals = text.find('=');
    if (equals != std::string::npos)
      world.environment_by_name.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (auto rank = world.environment_by_name.find(name); rank != world.environment_by_name.end())
      world.speaks = world.speaks && rank->second == "0";
  std::error_code error;
  world.program_folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return world;
}

// Becomes another program of ours; returns an exit code only if that fails.
int become(const std::filesystem::path& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> pointers;
  for (std::string& one : arguments)
    pointers.push_back(one.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  base::print(base::Stream::err,
              fmt::format("ncclprobe: cannot start {}: {}; it belongs beside ncclprobe\n",
                          program.string(), std::strerror(errno)));
  return base::k_exit_environment;
}

} // namespace

int main(int argc, char** argv) {
  base::prepare_process();
  if (auto enough = base::check_memory_limit(); !enough) {
    base::print(base::Stream::err, fmt::format("ncclprobe: {}\n", enough.error().text()));
    return base::k_exit_environment;
  }
  cli::World world = read_world(argc, argv);
  cli::Command command = cli::parse_command_line(world.arguments);
  if (auto* leave = std::get_if<cli::Leave>(&command))
    return leave->exit_code;
  if (auto* report = std::get_if<cli::ReportCommand>(&command))
    return become(world.program_folder / "ncclprobe-report", report->arguments);
  if (std::holds_alternative<cli::VersionCommand>(command)) {
    base::print(base::Stream::out, fmt::format("ncclprobe {}\n", base::version()));
    return become(world.program_folder / "ncclprobe-worker", {"--version"});
  }
  try {
    if (auto* plan = std::get_if<cli::PlanCommand>(&command)) {
      base::start_log("ncclprobe", plan->options.verbosity);
      return cli::plan_command(world, std::move(plan->options), plan->dry_run);
    }
    if (auto* doctor = std::get_if<cli::DoctorCommand>(&command)) {
      base::start_log("ncclprobe", doctor->options.verbosity);
      return cli::doctor_command(world, doctor->options);
    }
    if (auto* p2p = std::get_if<cli::P2pCommand>(&command)) {
      base::start_log("ncclprobe", p2p->options.verbosity);
      return cli::p2p_command(world, p2p->options);
    }
    if (auto* topo = std::get_if<cli::TopoCommand>(&command)) {
      base::start_log("ncclprobe", topo->options.verbosity);
      return cli::topo_command(world, topo->options);
    }
    if (auto* models = std::get_if<cli::ModelsCommand>(&command)) {
      base::start_log("ncclprobe", base::Verbosity::normal);
      return cli::models_command(models->options);
    }
    auto& run = std::get<cli::RunCommand>(command);
    base::start_log("ncclprobe", run.options.verbosity);
    return cli::run_command(world, std::move(run.options));
  } catch (const std::exception& error) {
    return cli::give_up_after(error);
  }
}
