// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/version/show_version.h"

#include "base/exit_code.h"
#include "base/json_document.h"
#include "base/program_facts.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/version/commit.h"
#include "launch/supervisor/environment.h"
#include "launch/supervisor/tool.h"
#include "store/run_file.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

struct Programs {
  base::ProgramFacts ncclprobe, worker;
};
NCCLPROBE_FIELDS(Programs, ncclprobe, worker)

base::ProgramFacts facts_of_this_program() {
  base::ProgramFacts facts = base::common_facts();
  facts.commit = commit();
  facts.mpi = launch::mpi_library();
  facts.hdf5 = store::hdf5_version();
  return facts;
}

Result<base::ProgramFacts> facts_of_worker(const World& world) {
  const launch::WorkerProgram worker = worker_program(world);
  NCCLPROBE_TRY_ASSIGN(
      const std::string text,
      launch::output_of_tool({worker.path.string(), "--version", "--format", "json"},
                             launch::worker_environment(world.environment, {}),
                             k_inventory_patience));
  base::ProgramFacts facts;
  NCCLPROBE_TRY(base::read_json(text, base::readable(facts)));
  facts.chosen_because = worker.chosen_because;
  return facts;
}

bool wants_json(const std::vector<std::string>& words) {
  const auto option = std::ranges::find(words, "--format");
  return std::ranges::find(words, "--format=json") != words.end() ||
         (option != words.end() && option + 1 != words.end() && option[1] == "json");
}

} // namespace

int show_version(const World& world) {
  Programs programs{facts_of_this_program(), {}};
  Result<base::ProgramFacts> worker = facts_of_worker(world);
  if (worker)
    programs.worker = std::move(*worker);
  const std::string text = wants_json(world.arguments)
                               ? base::json_text(base::writable(programs), 2) + "\n"
                           : worker ? in_lines(programs.ncclprobe) + in_lines(programs.worker)
                                    : in_lines(programs.ncclprobe);
  const int shown = show(text, base::k_exit_ok);
  return shown != base::k_exit_ok || worker ? shown : give_up(worker.error());
}

} // namespace ncclprobe::cli
