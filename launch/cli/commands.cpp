// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/commands.h"

#include "base/console.h"
#include "base/exit_code.h"
#include "base/similar_words.h"
#include "launch/cli/common/nccl_tests_words.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/emit/emit_command.h"
#include "launch/cli/fleet/fleet_command.h"
#include "launch/cli/help/help_command.h"
#include "launch/cli/job/session.h"
#include "launch/cli/models/models_command.h"
#include "launch/cli/p2p/p2p_command.h"
#include "launch/cli/plan/plan_command.h"
#include "launch/cli/record/record_command.h"
#include "launch/cli/replay/replay_command.h"
#include "launch/cli/report_program/report_commands.h"
#include "launch/cli/run/run_command.h"
#include "launch/cli/topo/topo_command.h"
#include "launch/cli/tune/tune_command.h"
#include "launch/cli/variables/variables_command.h"
#include "launch/cli/version/show_version.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

// Executes another program of ours; returns (an exit code) only if that fails.
int become(const std::filesystem::path& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> pointers;
  for (std::string& one : arguments)
    pointers.push_back(one.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  base::print(base::StandardStream::err,
              fmt::format("ncclprobe: cannot start {}: {}; it belongs beside ncclprobe\n",
                          program.string(), std::strerror(errno)));
  return base::k_exit_environment;
}

std::vector<Usage> all_usages(const World& world) {
  std::vector<Usage> usages;
  for (Command& command : commands(world))
    usages.push_back(std::move(command.usage));
  return usages;
}

// The number of words of the option and its value; 0: no command has it.
int words_of(const std::vector<Command>& all, const std::string& word) {
  if (is_size_or_ranks_of_nccl_tests(word))
    return 2;
  for (const Command& command : all)
    for (const Option& option : command.usage.options)
      if (const std::string name = word.substr(0, word.find('='));
          name == option.label() || name == option.also)
        return option.is_flag() || name != word ? 1 : 2;
  return 0;
}

// The first word that is neither an option nor the value of one; the end if an unknown option comes
// before it.
std::vector<std::string>::iterator first_bare_word(const std::vector<Command>& all,
                                                   std::vector<std::string>& words) {
  auto word = words.begin();
  while (word != words.end() && word->starts_with('-')) {
    const int count = words_of(all, *word);
    word = count == 0 || words.end() - word < count ? words.end() : word + count;
  }
  return word;
}

std::string unknown_command(const std::vector<Command>& all, const std::string& word) {
  std::vector<std::string_view> names;
  for (const Command& command : all)
    names.push_back(command.usage.name);
  const std::string_view nearest = base::most_similar(word, names);
  return fmt::format("ncclprobe: unknown command '{}'{}\n`ncclprobe help` lists the commands.\n",
                     word,
                     !nearest.empty()        ? fmt::format("; did you mean {}?", nearest)
                     : word.ends_with(".h5") ? "; `ncclprobe report` prints a run file"
                                             : "");
}

} // namespace

std::vector<Command> commands(const World& world) {
  auto here = [&world]<typename Options, typename Run>(Usage (*usage)(Options&), Run run) {
    return make_command<Options>(
        usage, [&world, run](Options options) { return run(world, std::move(options)); });
  };
  std::vector<Command> all{here(run_usage, run_command),
                           here(plan_usage, plan_command),
                           here(p2p_usage, p2p_command),
                           here(tune_usage, tune_command),
                           here(fleet_usage, fleet_command),
                           here(record_usage,
                                [](const World& w, const RecordOptions& options) {
                                  return record_command(w.program_folder, w.environment_by_name,
                                                        options);
                                }),
                           here(replay_usage, replay_command),
                           here(topo_usage, topo_command),
                           here(doctor_usage, doctor_command),
                           make_command<EmitOptions>(emit_usage, emit_command),
                           make_command<ModelsOptions>(models_usage, models_command),
                           make_command<VariablesOptions>(variables_usage, variables_command)};
  for (Command& command : report_commands())
    all.push_back({command.usage, nullptr});
  all.push_back(here(help_usage, [](const World& w, const HelpOptions& options) {
    return help_command(all_usages(w), options);
  }));
  return all;
}

int run_program(const World& world) {
  std::vector<Command> all = commands(world);
  auto named = [&](const std::string& word) {
    return std::ranges::find(all, word, [](const Command& one) { return one.usage.name; });
  };
  std::vector<std::string> words(world.arguments.begin() + 1, world.arguments.end());
  auto word = first_bare_word(all, words);
  auto command = named("run");
  if (word != words.end()) {
    command = named(*word);
    if (command == all.end()) {
      base::print(base::StandardStream::err, unknown_command(all, *word));
      return base::k_exit_usage;
    }
    words.erase(word);
  } else if (!words.empty() && (words.front() == "--help" || words.front() == "-h")) {
    command = named("help");
    words.erase(words.begin());
  }
  if (!command->run) {
    words.insert(words.begin(), command->usage.name);
    return become(world.program_folder / "ncclprobe-report", words);
  }
  if (command == named("run"))
    words = without_nccl_tests_words(words, started_by_launcher(world));
  return run_command_line(*command, words, [&world] { return show_version(world); });
}

} // namespace ncclprobe::cli
