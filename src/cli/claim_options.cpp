// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/claim_options.h"

#include "base/exit_code.h"
#include "cli/command_line.h"
#include "cli/help_layout.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <ostream>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_footer = R"(
Examples:
  ncclprobe claim --sync -9% --step -7%                 what that means, and whether it can be
  ncclprobe claim --sync -9% --step -7% --exposed 20% --communication 35%
                                                        whether it fits a job of which so much is exposed
                                                        communication, and so much communication at all
  ncclprobe claim --sync -9% --step -7% run.h5          the same, as the run measured it
  ncclprobe claim run.h5 --setting nccl=/opt/nccl-2.29/lib/libnccl.so.2
                                                        whether what that setting did to communication and to
                                                        the step fit together (named as in the report)

With computing unchanged a step gains at least what its exposed communication gains. Where buckets
queue behind each other, hidden ones count too: at most all of it, and no more than is exposed.

Exit codes: 0 the claim can be true (and fits what was measured), or there is nothing to claim yet,
9 it cannot (or does not), 2 bad arguments.
)";

} // namespace

base::Result<double> parse_change(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('%'))
    digits.remove_suffix(1);
  if (digits.starts_with('+'))
    digits.remove_prefix(1);
  double percent = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (error != std::errc{} || end != digits.data() + digits.size() ||
      digits.size() == text.size() || !(percent < 1e6))
    return base::fail(base::Errc::invalid_argument, "'{}' is no change of a time such as -9%",
                      text);
  if (percent <= -100)
    return base::fail(base::Errc::invalid_argument,
                      "'{}' leaves no time at all: changes of a time are above -100%", text);
  return percent / 100;
}

std::variant<ClaimOptions, int> parse_claim_arguments(const std::vector<std::string>& arguments,
                                                      std::ostream& out, std::ostream& err) {
  ClaimOptions options;
  std::string run_file, exposed, communication, sync, step;
  CLI::App app{
      "Says whether a claim about faster communication can be true: a sync time that is so "
      "much lower, a step that is so much shorter."};
  app.name("ncclprobe claim");
  use_help_layout(app);
  app.footer(k_footer);
  auto* of_sync =
      app.add_option("--sync", sync, "Change of the time of gradient synchronisation, -9%")
          ->type_name("CHANGE");
  auto* of_step =
      app.add_option("--step", step, "Change of the step time, -7%")->type_name("CHANGE");
  auto* share = app.add_option("--exposed", exposed, "Exposed communication of a step, 20%")
                    ->type_name("SHARE");
  auto* all = app.add_option("--communication", communication,
                             "Time of a step in which anything communicates, hidden or not, 35%")
                  ->needs(share)
                  ->type_name("SHARE");
  auto* file =
      app.add_option("run_file", run_file, "Run file with steps of training: its exposed share")
          ->excludes(share)
          ->excludes(all)
          ->type_name("RUN.h5");
  app.add_option("--setting", options.setting,
                 "A setting of the run, against its default: what changed is the claim")
      ->excludes(of_sync)
      ->excludes(of_step)
      ->needs(file)
      ->type_name("NAME");
  if (auto leave = parse_arguments(app, arguments, out, err))
    return *leave;
  auto take = [&](const char* option, const std::string& text, double& into) {
    auto change = parse_change(text);
    if (change)
      into = *change;
    else
      err << "ncclprobe claim: " << option << ": " << change.error().text() << "\n";
    return change.has_value();
  };
  options.run_file = run_file;
  if (!options.setting.empty())
    return options;
  if (sync.empty() || step.empty()) {
    err << "ncclprobe claim: " << (sync.empty() ? "--sync" : "--step")
        << " is missing: say what changed, such as --sync -9% --step -7%, or name a run file and "
           "one "
           "of its settings, such as run.h5 --setting NCCL_ALGO=Ring\n";
    return base::k_exit_usage;
  }
  if (!take("--sync", sync, options.claim.sync_change) ||
      !take("--step", step, options.claim.step_change))
    return base::k_exit_usage;
  auto take_share = [&](const char* option, const std::string& text, std::optional<double>& into) {
    double value = 0;
    if (text.empty())
      return true;
    if (!take(option, text, value))
      return false;
    if (value < 0 || value > 1) {
      err << "ncclprobe claim: " << option << ": " << text << " is no share from 0% to 100%\n";
      return false;
    }
    into = value;
    return true;
  };
  if (!take_share("--exposed", exposed, options.claim.exposed_share) ||
      !take_share("--communication", communication, options.claim.communication_share))
    return base::k_exit_usage;
  if (options.claim.communication_share &&
      *options.claim.communication_share < *options.claim.exposed_share) {
    err << "ncclprobe claim: --communication: " << communication << " is less than the " << exposed
        << " of it that are exposed\n";
    return base::k_exit_usage;
  }
  return options;
}

} // namespace ncclprobe::cli
