// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/nodes_asked_for.h"

#include "base/atomic_file.h"
#include "launch/cli/common/file_kind.h"
#include "store/run_file.h"
#include "topology/read/read_any.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace ncclprobe::cli {
namespace {

using analysis::NodeInQuestion;

Result<NodeInQuestion> this_host(const World& world) {
  const launch::WorkerProgram worker = worker_program(world);
  NCCLPROBE_TRY_ASSIGN(const model::HostInventory host,
                       launch::take_inventory(worker, k_inventory_patience));
  if (host.gpus.empty())
    return base::fail(
        base::Error{base::Errc::unavailable,
                    "this host has no usable GPU" +
                        (host.nvidia_problem.empty() ? "" : ": " + host.nvidia_problem),
                    "name one with --gpu, such as --gpu T4 or --gpu sm_90"});
  return analysis::node_of(host);
}

// What a description of a machine says of its GPUs. Its other facts answer no question here.
model::HostInventory host_of(const topology::Host& seen) {
  model::HostInventory host{.hostname = seen.name.value.value_or("")};
  if (seen.driver_version)
    host.libraries.push_back(
        {"cuda_driver",
         seen.cuda_driver_version
             ? fmt::format("{} (CUDA {})", *seen.driver_version, *seen.cuda_driver_version)
             : *seen.driver_version,
         "", ""});
  for (const topology::Gpu& gpu : seen.gpus) {
    model::CudaDevice& one = host.gpus.emplace_back();
    one.name = gpu.name.value.value_or("");
    one.compute_capability = gpu.compute_capability.value.value_or("");
    one.memory_bytes = gpu.memory_bytes.value.value_or(0);
    if (gpu.nvlinks)
      one.nvlinks = static_cast<int>(gpu.nvlinks->size());
  }
  return host;
}

Result<std::vector<NodeInQuestion>> stored_nodes(const std::string& file) {
  const InputKind kind = kind_of_file(file);
  std::error_code problem;
  // A pipe may have no writer: the reader of run files refuses it without waiting.
  if (kind == InputKind::run || !std::filesystem::is_regular_file(file, problem)) {
    NCCLPROBE_TRY_ASSIGN(const model::Run run, store::read_run(file));
    return analysis::nodes_of(run);
  }
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file));
  if (kind == InputKind::examination) {
    NCCLPROBE_TRY_ASSIGN(const auto one, analysis::doctor::read_case(text));
    return analysis::nodes_of(one);
  }
  NCCLPROBE_TRY_ASSIGN(const topology::ReadFile read, topology::read_any(text, file));
  model::Run run;
  if (const auto* machine = std::get_if<topology::Machine>(&read.content))
    std::ranges::transform(machine->hosts, std::back_inserter(run.header.hosts), host_of);
  for (const model::HostInventory& host : run.header.hosts)
    for (const model::CudaDevice& gpu : host.gpus)
      if (gpu.name.empty() || gpu.memory_bytes == 0)
        return base::fail({base::Errc::invalid_argument, "it does not say what its GPUs are",
                           "give what `ncclprobe topo -o node.json` or nvidia-smi -q wrote"});
  return analysis::nodes_of(run);
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
        error.hint = "give what `ncclprobe doctor -o node.json` or `ncclprobe topo -o node.json` "
                     "stored, or a run file";
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
