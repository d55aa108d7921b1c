// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/hang/hang_command.h"

#include "stacks/process_stacks.h"

#include "analysis/hang/hang_report.h"
#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/hang/captured_job.h"
#include "launch/cli/hang/dump_files.h"
#include "launch/cli/hang/ras_client.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_hang_command = "ncclprobe hang";
constexpr std::size_t k_most_stacks = 8; // ranks of one job: each stops for a moment

using analysis::hang::Job;
using analysis::hang::Source;

bool lives(const std::vector<Source>& sources) {
  return std::ranges::any_of(sources, [](const Source& source) {
    return std::ranges::any_of(source.job.ranks, [](const analysis::hang::RankCalls& rank) {
      return rank.state == analysis::hang::ProcessState::alive;
    });
  });
}

// What RAS says; of an address that the user gave also why it says nothing.
std::vector<std::string> ras_lines(const HangOptions& options, const std::vector<Source>& sources) {
  if (options.ras.empty() && !lives(sources))
    return {};
  auto lines = ask_ras(options.ras.empty() ? k_ras_address : options.ras);
  if (lines)
    return std::move(*lines);
  return options.ras.empty() ? std::vector<std::string>() : std::vector{lines.error().text()};
}

std::vector<analysis::hang::RankStacks> stacks_in(const std::vector<Source>& sources) {
  std::vector<analysis::hang::RankStacks> all;
  for (const Source& source : sources)
    for (const std::size_t place : ranks_to_look_at(source.job, source.verdict, k_most_stacks)) {
      const analysis::hang::RankCalls& rank = source.job.ranks[place];
      analysis::hang::RankStacks& one = all.emplace_back();
      one.rank = rank.rank;
      one.process = rank.here;
      if (auto threads = stacks::stacks_of(static_cast<pid_t>(rank.here)))
        one.threads = std::move(*threads);
      else
        one.problem = threads.error().text();
    }
  return all;
}

Source judged(std::string name, Job job, std::int64_t least_ns) {
  analysis::hang::Verdict verdict = analysis::hang::judge(job, least_ns);
  return {std::move(name), std::move(job), std::move(verdict)};
}

Result<std::vector<Source>> read_sources(const HangOptions& options) {
  if (options.job.empty() && options.dumps.empty())
    return fail({Errc::invalid_argument, "nothing to read is given",
                 "give the folder of a recorded job, or --flight-recorder FILES"});
  std::vector<Source> sources;
  if (!options.job.empty()) {
    NCCLPROBE_TRY_ASSIGN(Job job, read_captured_job(options.job));
    sources.push_back(judged(options.job.string(), std::move(job), options.least_ns));
  }
  if (!options.dumps.empty()) {
    NCCLPROBE_TRY_ASSIGN(Job job, read_dumps(options.dumps));
    sources.push_back(judged("PyTorch's flight recorder", std::move(job), options.least_ns));
  }
  return sources;
}

} // namespace

int hang_command(const HangOptions& options) {
  if (auto possible = check_output(options.output, {options.job}); !possible)
    return complain_of_output(k_hang_command, possible.error());
  auto sources = read_sources(options);
  if (!sources)
    return complain_of_input(k_hang_command, sources.error());
  return deliver(
      analysis::hang::hang_report(*sources, {ras_lines(options, *sources), stacks_in(*sources)}),
      options, analysis::hang::hangs(*sources) ? base::k_exit_hang : base::k_exit_ok);
}

} // namespace ncclprobe::cli
