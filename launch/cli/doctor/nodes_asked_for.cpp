// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/nodes_asked_for.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "store/run_file.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

using analysis::NodeInQuestion;
using base::Result;

Result<NodeInQuestion> this_host(const World& world) {
  launch::WorkerProgram worker;
  worker.path = world.program_folder / "ncclprobe-worker";
  worker.environment = world.environment;
  NCCLPROBE_TRY_ASSIGN(const model::Host host,
                       launch::take_inventory(worker, k_inventory_patience));
  if (host.gpus.empty())
    return base::fail(
        base::Error{base::Errc::unavailable,
                    "this host has no usable GPU" +
                        (host.nvidia_problem.empty() ? "" : ": " + host.nvidia_problem),
                    "name one with --gpu, such as --gpu T4 or --gpu sm_90"});
  return analysis::node_of(host);
}

// An examination is JSON, a run is not.
bool is_examination(const std::string& file) {
  std::array<char, 4096> begin{};
  const base::Fd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const ssize_t size = ::read(fd.get(), begin.data(), begin.size());
  const std::string_view text(begin.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('{');
}

Result<std::vector<NodeInQuestion>> stored_nodes(const std::string& file) {
  if (!is_examination(file)) {
    NCCLPROBE_TRY_ASSIGN(const model::Run run, store::read_run(file));
    return analysis::nodes_of(run);
  }
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file));
  NCCLPROBE_TRY_ASSIGN(const auto one, analysis::doctor::read_case(text));
  return analysis::nodes_of(one);
}

} // namespace

Result<AskedFor> nodes_asked_for(const World& world, const DoctorQuestions& questions) {
  AskedFor asked;
  for (const std::string& file : questions.nodes) {
    auto found = stored_nodes(file);
    if (!found) {
      base::Error error = std::move(found.error());
      if (error.code != base::Errc::not_found && error.code != base::Errc::io)
        error.code = base::Errc::invalid_argument;
      if (error.hint.empty())
        error.hint = "give what `ncclprobe doctor --format json` stored, or a run file";
      return base::with_context(std::move(error), file);
    }
    asked.nodes.insert(asked.nodes.end(), found->begin(), found->end());
  }
  for (const std::string& gpu : questions.gpus) {
    auto node = analysis::named_node(gpu);
    if (node)
      asked.nodes.push_back(std::move(*node));
    else
      asked.unknown.push_back(std::move(node.error()));
  }
  if (asked.nodes.empty() && !asked.unknown.empty())
    return base::fail(std::move(asked.unknown.front()));
  if (asked.nodes.empty()) {
    NCCLPROBE_TRY_ASSIGN(NodeInQuestion node, this_host(world));
    asked.nodes.push_back(std::move(node));
  }
  return asked;
}

} // namespace ncclprobe::cli
