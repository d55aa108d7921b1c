// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/options.h"

#include "base/console.h"
#include "cli/command_line.h"
#include "cli/help_layout.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_footer = R"(Examples:
  ncclprobe                                  all GPUs of this node (or 2 CPU ranks), about 2 minutes
  mpirun -np 8 ncclprobe                     one rank a GPU, several nodes too
  mpirun -np 8 ncclprobe --set NCCL_ALGO=Ring,Tree --set NCCL_PROTO=LL,Simple --sizes 64K:64M:x4
  mpirun -np 8 ncclprobe --resume run.h5     what is missing of a run that was stopped or killed
  ncclprobe --backend host --ranks 4 --collectives all_reduce,broadcast --sizes 1M
  ncclprobe plan --dry-run --plan sweep.toml
  ncclprobe p2p                              bandwidth and latency of every link
  ncclprobe report run.h5 --format csv
  mpirun -np 8 ncclprobe doctor              what is wrong here, what it costs, how to repair it
  ncclprobe topo                             what this machine is, and what is unknown of it
  ncclprobe models gpt2-124m --buckets       the gradients that PyTorch's DDP reduces together

Exit codes: 0 all measured, 1 defect of ncclprobe, 2 bad arguments or input, 3 some cells failed,
  4 nothing measured, 5 wrong data, 6 the launch does not fit the machine, or not the run that
  --resume goes on with, 7 results not written, 8 doctor: warnings, 9 doctor: failures,
  130 interrupted

`ncclprobe run --help` lists the options.)";

bool is_word_of_ours(const std::string& word) {
  constexpr std::array k_words{"run",    "plan",   "p2p",        "topo",     "doctor",
                               "models", "report", "export",     "predict",  "claim",
                               "--help", "-h",     "--help-all", "--version"};
  return std::find(k_words.begin(), k_words.end(), word) != k_words.end();
}

// With the most letters in common from the start; empty if these are fewer than half of the word's.
std::string nearest_option(const CLI::App& app, const std::string& word) {
  std::string nearest;
  std::size_t most = std::max<std::size_t>(word.size() / 2, 4); // two of them are dashes
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) {
      const std::string full = "--" + name;
      auto common = static_cast<std::size_t>(
          std::mismatch(full.begin(), full.end(), word.begin(), word.end()).first - full.begin());
      if (common > most || (common == most && nearest.empty())) {
        most = common;
        nearest = full;
      }
    }
  return nearest;
}

// CLI11 lists all words that are left over, the last one first.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
  const std::vector<std::string> rest = app->remaining(true);
  if (error.get_name() != "ExtrasError" || rest.empty())
    return CLI::FailureMessage::simple(app, error);
  auto option = std::ranges::find_if(rest, [](const auto& word) { return word.starts_with('-'); });
  const std::string& word = option == rest.end() ? rest.front() : *option;
  const auto commands = app->get_subcommands();
  const CLI::App& command = commands.empty() ? *app : *commands.front();
  const std::string nearest = nearest_option(command, word.substr(0, word.find('=')));
  return fmt::format("unknown argument '{}'{}\nRun with --help for more information.\n", word,
                     nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest));
}

} // namespace

Command parse_command_line(const std::vector<std::string>& arguments) {
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (words.empty() || !is_word_of_ours(words.front()))
    words.insert(words.begin(), "run");
  // The report has a program of its own, which reads its own arguments.
  if (words.front() == "report")
    return ReportCommand{{words.begin() + 1, words.end()}};
  if (words.front() == "export" || words.front() == "predict" || words.front() == "claim")
    return ReportCommand{words};
  if (words.front() == "--version")
    return VersionCommand{};

  CLI::App app{"ncclprobe measures multi-GPU communication: NCCL collectives under different "
               "settings, each setting "
               "in processes of its own, data checked in every cell. `run` may be left out.",
               "ncclprobe"};
  use_help_layout(app);
  app.footer(k_footer);
  app.require_subcommand(1);
  app.failure_message(failure_text);
  RunOptions options;
  bool dry_run = false;
  CLI::App* run = app.add_subcommand("run", "Measure, store and report");
  declare_run_options(*run, options);
  CLI::App* plan = app.add_subcommand(
      "plan", "Print the plan as a plan file, or with --dry-run the trials it means");
  declare_plan_options(*plan, options);
  plan->add_flag("--dry-run", dry_run, "Print the trials and the expected time");
  DoctorOptions doctor_options;
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Say what is wrong with this machine and its software, and how to repair it");
  declare_doctor_options(*doctor, doctor_options);
  P2pOptions p2p_options;
  CLI::App* p2p = app.add_subcommand(
      "p2p", "Measure the links: bandwidth and latency between all pairs, and to the host");
  declare_p2p_options(*p2p, p2p_options);
  TopoOptions topo_options;
  CLI::App* topo = app.add_subcommand(
      "topo", "Show what the machine is: GPUs, links, network, placement and ceilings");
  declare_topo_options(*topo, topo_options);
  ModelsOptions models_options;
  CLI::App* models = app.add_subcommand(
      "models", "Show the models whose training is measured, and the buckets of their gradients");
  declare_models_options(*models, models_options);
  app.add_subcommand("report", "Print the report of a run file: ncclprobe report --help");
  app.add_subcommand("predict", "Steps of training on more ranks: ncclprobe predict --help");
  app.add_subcommand("claim", "Can this speed-up be true? ncclprobe claim --help");
  app.add_subcommand("export", "Write a trace for other programs: ncclprobe export --help");
  app.add_flag_callback(
      "--version", [] {}, "Print versions, build options and architectures");

  auto check = [&] { check_resumed_alone(*run, options); };
  if (auto leave = parse_arguments(app, words, base::console(base::Stream::out),
                                   base::console(base::Stream::err), check))
    return Leave{*leave};
  if (*doctor)
    return DoctorCommand{doctor_options};
  if (*plan)
    return PlanCommand{options, dry_run ? DryRun::yes : DryRun::no};
  if (*p2p)
    return P2pCommand{p2p_options};
  if (*topo)
    return TopoCommand{topo_options};
  if (*models)
    return ModelsCommand{models_options};
  return RunCommand{options};
}

} // namespace ncclprobe::cli
