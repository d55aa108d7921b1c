// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/emit/emit_command.h"

#include "base/shell_word.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/emit/job_file.h"

#include <algorithm>
#include <filesystem>

namespace ncclprobe::cli {
namespace {

Result<std::vector<std::string>> adapters_of_this_machine() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", error))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  if (names.empty())
    return fail(Error{Errc::not_found, "this machine has no RDMA adapter (/sys/class/infiniband)",
                      "name those of the nodes: --hca mlx5_0 --hca mlx5_1"});
  return names;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// What would expand a "$" before the shell does.
std::string escaped_for(const std::string& kind, const std::string& text) {
  if (kind == "compose")
    return replaced(text, "$", "$$");
  return kind == "sbatch" ? text : replaced(text, "$(", "$$(");
}

std::string words_of_shell(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments)
    line += (line.empty() ? "" : " ") + base::shell_word(argument);
  return line;
}

Result<void> check(const EmitOptions& options) {
  if (options.kind == "compose" && options.nodes > 1)
    return fail(Error{Errc::invalid_argument, "Docker Compose starts containers on one host only",
                      "emit sbatch, mpijob or jobset for several nodes"});
  if (options.gpus == 0 && !options.ranks)
    return fail(Error{Errc::invalid_argument, "without GPUs, the number of ranks is unknown",
                      "add --ranks-per-node N"});
  for (const std::string& argument : options.arguments)
    if (std::ranges::any_of(argument, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
      return fail(Errc::invalid_argument, "an argument holds a control character");
  return {};
}

job_files::Filling filling_of(const EmitOptions& options) {
  const int ranks = options.ranks.value_or(options.gpus);
  job_files::Filling filling;
  auto want = [&filling](const char* part, bool wanted) {
    if (wanted)
      filling.parts.insert(part);
  };
  want("gpus", options.gpus > 0);
  want("rdma", !options.hcas.empty());
  want("rdma_resource", !options.rdma_resource.empty());
  want("no_limits", options.gpus == 0 && options.rdma_resource.empty());
  want("partition", !options.partition.empty());
  want("volume", !options.volume.empty());
  want("many", options.nodes > 1);
  want("each", options.each_node);
  want("all", !options.each_node);
  want("without_mpi", !options.each_node && options.mpi == "none");
  std::vector<std::string> arguments = options.arguments;
  if (arguments.empty())
    arguments = {options.each_node ? "doctor" : "run"};
  const std::string line = words_of_shell(arguments);
  const std::string hcas = fmt::format("{}", fmt::join(options.hcas, ","));
  filling.values = {
      {"MADE_BY", fmt::format("Made by ncclprobe {} emit {}.", base::version(), options.kind)},
      {"NODES", std::to_string(options.nodes)},
      {"GPUS", std::to_string(options.gpus)},
      {"RANKS", std::to_string(ranks)},
      {"ALL_RANKS", std::to_string(ranks * options.nodes)},
      {"TIME", options.time},
      {"PARTITION", options.partition},
      {"HCA", hcas},
      {"HCA_WORDS", fmt::format("{}", fmt::join(options.hcas, " "))},
      {"PASS_HCA", options.hcas.empty() ? "" : "-x NCCL_IB_HCA=" + hcas + " "},
      {"MPI", options.mpi},
      {"WAIT", std::to_string(options.wait_ns / 1'000'000'000)},
      {"IMAGE", options.image},
      {"SHM", fmt::format("{}Mi", options.shm_bytes >> 20)},
      {"SHM_BYTES", fmt::format("{}m", options.shm_bytes >> 20)},
      {"RDMA_RESOURCE", options.rdma_resource},
      {"VOLUME", options.volume},
      {"ARGUMENTS", escaped_for(options.kind, line)},
      {"ARGUMENTS_TWICE", escaped_for(options.kind, words_of_shell({line}))}};
  std::string preflight = job_files::fill(job_files::embedded_text("preflight"), filling);
  preflight.pop_back(); // the template ends the line
  filling.values["PREFLIGHT"] =
      escaped_for(options.kind == "compose" ? "compose" : "sbatch", preflight);
  return filling;
}

} // namespace

int emit_command(EmitOptions options) {
  if (auto right = check(options); !right)
    return give_up(right.error());
  if (options.hcas == std::vector<std::string>{"detect"}) {
    auto found = adapters_of_this_machine();
    if (!found)
      return give_up(found.error());
    options.hcas = *found;
  }
  if (auto possible = check_destination(options.destination); !possible)
    return give_up(possible.error());
  return deliver(job_files::fill(job_files::embedded_text(options.kind), filling_of(options)),
                 options.destination, 0);
}

} // namespace ncclprobe::cli
