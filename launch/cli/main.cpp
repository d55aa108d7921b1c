// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe: supervises trials of multi-GPU communication. Composition only.
#include "base/console.h"
#include "base/exit_code.h"
#include "base/process_start.h"
#include "base/resource_limits.h"
#include "launch/cli/commands.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/job/session.h"

#include <algorithm>
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
  const auto torchruns =
      std::ranges::stable_partition(world.environment, [&](const std::string& entry) {
        return !cli::is_torchruns_own(world, entry);
      });
  for (const std::string& entry : torchruns)
    world.environment_by_name.erase(entry.substr(0, entry.find('=')));
  world.environment.erase(torchruns.begin(), torchruns.end());
  world.speaks = cli::is_first_rank(world);
  std::error_code error;
  world.program_folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return world;
}

} // namespace

int main(int argc, char** argv) {
  base::prepare_process();
  if (auto enough = base::check_memory_limit(); !enough) {
    base::print(base::StandardStream::err, fmt::format("ncclprobe: {}\n", enough.error().text()));
    return base::k_exit_environment;
  }
  const cli::World world = read_world(argc, argv);
  try {
    return cli::run_program(world);
  } catch (const std::exception& error) {
    return cli::give_up_after(error);
  }
}
