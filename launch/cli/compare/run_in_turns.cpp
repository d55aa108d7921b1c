// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/compare/run_in_turns.h"

#include "base/exit_code.h"
#include "base/log.h"
#include "base/shell_word.h"
#include "base/text_files.h"
#include "base/text_layout.h"

#include <cstdlib>
#include <random>
#include <sys/wait.h>

namespace ncclprobe::cli {
namespace {

constexpr std::size_t k_lines_shown = 20; // of a command that failed

// " -o FILE", " --output=FILE": such a command gets a second one (command_writing).
bool gives_output(const std::string& command) {
  return command.find("{}") == std::string::npos &&
         (command.find(" -o") != std::string::npos ||
          command.find(" --output") != std::string::npos);
}

// std::system() keeps Ctrl-C from this program while the command runs; the command gets it.
// `given` is the command as the user wrote it.
Result<void> run_command(const std::string& given, const std::string& command,
                         const std::filesystem::path& output) {
  const int status = std::system(
      fmt::format("{{ {}\n}} > {} 2>&1", command, base::shell_word(output.string())).c_str());
  if (WIFEXITED(status) &&
      (WEXITSTATUS(status) == base::k_exit_ok || WEXITSTATUS(status) == base::k_exit_some_failed))
    return {};
  const std::string how = WIFEXITED(status)     ? fmt::format("exit {}", WEXITSTATUS(status))
                          : WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : "not started";
  std::string printed;
  for (const std::string& line : base::last_lines(base::text_of(output), k_lines_shown))
    printed += "\n  " + line;
  return fail(
      {Errc::failed,
       fmt::format("the command ended with {}: {}{}{}", how, command,
                   gives_output(given) ? "; it gives --output already: write {} as the path there"
                                       : "",
                   printed.empty() ? "" : "; it printed:" + printed),
       printed.empty() ? "try it alone" : ""});
}

} // namespace

std::string command_writing(const std::string& command, const std::filesystem::path& run_file) {
  const std::string path = base::shell_word(run_file.string());
  std::string text = command;
  std::size_t at = text.find("{}");
  if (at == std::string::npos)
    return text + " -o " + path;
  for (; at != std::string::npos; at = text.find("{}", at + path.size()))
    text.replace(at, 2, path);
  return text;
}

std::vector<bool> second_first(int pairs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> order;
  for (int pair = 0; pair < pairs; ++pair)
    order.push_back(pair % 2 == 1 ? !order.back() : random() % 2 == 1);
  return order;
}

Result<void>
run_in_turns(const std::array<std::string, 2>& commands, const std::vector<bool>& second_first,
             const std::function<std::filesystem::path(int pair, int side)>& run_file) {
  for (std::size_t pair = 0; pair < second_first.size(); ++pair)
    for (int turn : {0, 1}) {
      const int side = second_first[pair] ? 1 - turn : turn;
      spdlog::info("pair {} of {}: {}", pair + 1, second_first.size(), side == 0 ? "A" : "B");
      const std::filesystem::path file = run_file(static_cast<int>(pair), side);
      std::filesystem::path output = file;
      output.replace_extension(".txt");
      const std::string& command = commands[static_cast<std::size_t>(side)];
      NCCLPROBE_TRY(run_command(command, command_writing(command, file), output));
    }
  return {};
}

} // namespace ncclprobe::cli
