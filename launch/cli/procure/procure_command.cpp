// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/procure/procure_command.h"

#include "analysis/procure/procurement_report.h"
#include "analysis/suitability/node_in_question.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/procure/nodes_file.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::cli {
namespace {

using analysis::GpuInQuestion;
using analysis::procure::NodeType;

bool may_be_same(const GpuInQuestion& stated, const GpuInQuestion& seen) {
  return stated.models.empty() || seen.models.empty() ||
         std::ranges::any_of(stated.models, [&](const auto* one) {
           return std::ranges::find(seen.models, one) != seen.models.end();
         });
}

// The GPU of a node, as the run saw it. Errors: invalid_argument if that is not the stated one, or
// if neither the file nor the run has one.
Result<void> take_gpu(NodeType& node, const model::Run& run, const std::string& file) {
  const auto seen = analysis::nodes_of(run);
  if (!seen) {
    if (node.gpu.name.empty() || node.gpu.count == 0)
      return fail({Errc::invalid_argument,
                   fmt::format("node '{}': {} was measured without GPUs", node.name, file),
                   "give gpu and gpus of the node"});
    return {};
  }
  const GpuInQuestion& gpu = seen->front().gpus.front();
  if (!node.gpu.name.empty() && !may_be_same(node.gpu, gpu))
    return fail({Errc::invalid_argument,
                 fmt::format("node '{}' has {}, but {} was measured on {}", node.name,
                             node.gpu.name, file, gpu.name),
                 "give the runs of that node, or correct gpu"});
  const int gpus = node.gpu.count;
  node.gpu = gpu;
  if (gpus > 0)
    node.gpu.count = gpus;
  return {};
}

} // namespace

int procure_nodes(const std::filesystem::path& nodes_file, analysis::Format format,
                  const base::Destination& output) {
  const char* command = "ncclprobe compare";
  auto file = read_nodes_file(nodes_file);
  if (!file)
    return complain_of_input(command, file.error());
  std::vector<std::filesystem::path> inputs{nodes_file};
  for (const NodeType& node : file->nodes)
    inputs.insert(inputs.end(), node.files.begin(), node.files.end());
  if (auto possible = check_output(output, inputs); !possible)
    return complain_of_output(command, possible.error());
  for (NodeType& node : file->nodes)
    for (const std::string& name : std::exchange(node.files, {})) {
      auto run = read_run_or_parts(name);
      if (!run)
        return complain_of_input(command, run.error());
      if (std::ranges::any_of(node.runs, [&](const model::Run& other) {
            return other.header.run_id == run->header.run_id;
          })) {
        spdlog::warn("node '{}': {} is left out: it is the same run as another file", node.name,
                     name);
        continue;
      }
      node.files.push_back(name);
      if (auto taken = take_gpu(node, *run, name); !taken)
        return complain(command, taken.error(), base::k_exit_usage);
      node.runs.push_back(std::move(*run));
    }
  if (auto checked = analysis::procure::check_inputs(file->nodes, file->workloads); !checked)
    return complain(command, checked.error(), base::k_exit_usage);
  return deliver(analysis::procure::procurement_report(analysis::procure::procurement_of(
                     std::move(file->nodes), std::move(file->workloads))),
                 format, output, base::k_exit_ok);
}

} // namespace ncclprobe::cli
