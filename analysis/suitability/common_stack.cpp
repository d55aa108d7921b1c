// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/common_stack.h"

#include "analysis/suitability/suitability_words.h"
#include "base/text_layout.h"
#include "knowledge/cuda_tables.h"
#include "knowledge/document.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::VersionNumber;
using Nodes = std::vector<const NodeInQuestion*>;

bool driver_runs(const NodeInQuestion& node, const VersionNumber& cuda) {
  if (!node.driver)
    return true;
  using enum knowledge::DriverVerdict;
  auto verdict = knowledge::judge_driver(*node.driver, cuda).verdict;
  return verdict == full || verdict == minor_compat;
}

template <typename Ask>
bool all_gpus(const Nodes& nodes, Ask ask) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const NodeInQuestion* node) {
    return std::all_of(node->gpus.begin(), node->gpus.end(), ask);
  });
}

bool all_drivers_run(const Nodes& nodes, const VersionNumber& cuda) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const NodeInQuestion* node) { return driver_runs(*node, cuda); });
}

// Missing data about a GPU in CUDA's tables; empty if they have it.
std::string unknown_to_cuda(const GpuInQuestion& gpu) {
  const knowledge::CudaTarget* target = knowledge::cuda_target(gpu.capability);
  if (target == nullptr)
    return fmt::format("{} is not in the tables", gpu.capability.sm());
  return target->first_cuda ? ""
                            : fmt::format("the first CUDA for {} is unknown", gpu.capability.sm());
}

bool compiles_for(const VersionNumber& cuda, const GpuInQuestion& gpu) {
  const knowledge::CudaTarget& target = *knowledge::cuda_target(gpu.capability);
  return cuda >= *target.first_cuda && (!target.last_cuda || cuda <= *target.last_cuda);
}

void find_cuda(const Nodes& nodes, SupportedStack& into) {
  for (const NodeInQuestion* node : nodes)
    for (const GpuInQuestion& gpu : node->gpus)
      if (std::string problem = unknown_to_cuda(gpu); !problem.empty()) {
        into.problem = problem;
        return;
      }
  for (const knowledge::Toolkit& toolkit : knowledge::cuda_toolkits()) {
    const VersionNumber& cuda = toolkit.version;
    if (!all_gpus(nodes, [&](const GpuInQuestion& gpu) { return compiles_for(cuda, gpu); }) ||
        !all_drivers_run(nodes, cuda))
      continue;
    if (!into.first_cuda)
      into.first_cuda = cuda;
    if (!into.newest_cuda || cuda > *into.newest_cuda)
      into.newest_cuda = cuda;
  }
  if (!into.newest_cuda)
    into.problem = "no CUDA toolkit in the tables supports all";
}

void find_driver_branches(const Nodes& nodes, SupportedStack& into) {
  std::optional<VersionNumber> first;
  bool first_is_known = true;
  for (const NodeInQuestion* node : nodes)
    for (const GpuInQuestion& gpu : node->gpus) {
      const knowledge::GpuLimits limits = knowledge::gpu_limits({&gpu.capability, 1});
      first_is_known = first_is_known && limits.first_branch;
      if (limits.first_branch && (!first || *limits.first_branch > *first))
        first = limits.first_branch;
      const auto& last = limits.last_branch;
      if (last && (!into.last_driver_branch || *last < *into.last_driver_branch))
        into.last_driver_branch = last;
    }
  if (first_is_known)
    into.least_driver_branch = first;
  into.no_common_branch = first && into.last_driver_branch && *first > *into.last_driver_branch;
}

// The wheel of this name has code for each GPU, in the variant that its node can install.
bool serves_all(const knowledge::PytorchWheel& wheel, const Nodes& nodes) {
  return all_gpus(nodes, [&](const GpuInQuestion& gpu) {
    const auto* its = knowledge::pytorch_wheel(wheel.torch, wheel.cuda_tag, cpu_of(gpu));
    return its != nullptr && !needs_jetpack(gpu) && knowledge::has_code(*its, gpu.capability);
  });
}

// From the newest release that supports all, the wheel for the newest CUDA.
void find_wheel(const Nodes& nodes, SupportedStack& into) {
  for (const knowledge::PytorchWheel& wheel : knowledge::pytorch_wheels()) {
    if (!serves_all(wheel, nodes) || !all_drivers_run(nodes, wheel.cuda))
      continue;
    const knowledge::PytorchWheel* best = into.newest_wheel;
    if (best == nullptr || wheel.torch > best->torch ||
        (wheel.torch == best->torch && wheel.cuda > best->cuda))
      into.newest_wheel = &wheel;
  }
}

SupportedStack stack_of(const Nodes& nodes) {
  SupportedStack found;
  find_cuda(nodes, found);
  find_driver_branches(nodes, found);
  find_wheel(nodes, found);
  return found;
}

bool is_older(const SupportedStack& one, const SupportedStack& other) {
  auto older_wheel = [](const auto* a, const auto* b) {
    return b != nullptr &&
           (a == nullptr || a->torch < b->torch || (a->torch == b->torch && a->cuda < b->cuda));
  };
  return (other.newest_cuda && (!one.newest_cuda || *one.newest_cuda < *other.newest_cuda)) ||
         older_wheel(one.newest_wheel, other.newest_wheel);
}

std::string wheel_text(const SupportedStack& one) {
  return one.newest_wheel == nullptr ? "none of the tables" : one.newest_wheel->name();
}

std::string cuda_text(const SupportedStack& one) {
  if (!one.newest_cuda)
    return one.problem.empty() ? "unknown" : one.problem;
  return fmt::format("{} to {}", one.first_cuda->text(), one.newest_cuda->text());
}

// The drivers that run the newest CUDA that supports all.
std::string drivers_text(const CommonStack& stack) {
  if (stack.all.no_common_branch)
    return "no driver branch supports all of these GPUs: each node needs its own";
  const std::string cuda = stack.all.newest_cuda->text();
  const std::string from =
      fmt::format("CUDA {} runs from driver {} on; ", cuda, version_text(stack.least_driver));
  const auto& last = stack.all.last_driver_branch;
  if (last && stack.full_driver && stack.full_driver->major() > last->major())
    return from +
           fmt::format(
               "some features are missing, because branch {} is the last that supports these GPUs",
               last->text());
  return from +
         fmt::format(
             "all features from {} on{}",
             stack.full_driver ? stack.full_driver->text() : "a driver that the tables do not know",
             last ? fmt::format("; branch {} is the last that supports these GPUs", last->text())
                  : "");
}

std::string branch_text(const SupportedStack& one) {
  if (one.no_common_branch)
    return "no common one";
  const std::string last =
      one.last_driver_branch ? "to r" + one.last_driver_branch->text() : std::string("on");
  if (one.least_driver_branch)
    return fmt::format("r{} {}", one.least_driver_branch->text(), last);
  return one.last_driver_branch ? "up " + last : "unknown";
}

Object values_of(const SupportedStack& one) {
  return {{"name", one.name},
          {"gpus", one.gpus},
          {"driver", version_value(one.driver)},
          {"first_cuda", version_value(one.first_cuda)},
          {"newest_cuda", version_value(one.newest_cuda)},
          {"least_driver_branch", version_value(one.least_driver_branch)},
          {"last_driver_branch", version_value(one.last_driver_branch)},
          {"newest_pytorch_wheel", one.newest_wheel ? Value(one.newest_wheel->name()) : Value()},
          {"problem", one.problem}};
}

} // namespace

CommonStack common_stack(const std::vector<NodeInQuestion>& nodes) {
  CommonStack stack;
  Nodes all;
  for (const NodeInQuestion& node : nodes) {
    all.push_back(&node);
    SupportedStack one = stack_of({&node});
    one.name = node.name;
    one.driver = node.driver;
    for (const GpuInQuestion& gpu : node.gpus)
      one.gpus += (one.gpus.empty() ? "" : ", ") + gpus_text(gpu);
    stack.nodes.push_back(std::move(one));
  }
  stack.all = stack_of(all);
  stack.all.name = "all";
  for (std::size_t i = 0; i < nodes.size() && nodes.size() > 1; ++i) {
    Nodes others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (is_older(stack.all, stack_of(others)))
      stack.held_back_by.push_back(nodes[i].name);
  }
  if (stack.all.newest_cuda && !stack.all.no_common_branch) {
    stack.full_driver = knowledge::full_driver(*stack.all.newest_cuda);
    stack.least_driver = knowledge::minor_compatibility_driver(stack.all.newest_cuda->major());
    // A driver that runs this CUDA may be too old for a GPU.
    if (stack.least_driver && stack.all.least_driver_branch)
      stack.least_driver = std::max(*stack.least_driver, *stack.all.least_driver_branch);
  }
  return stack;
}

Report common_stack_report(const CommonStack& stack) {
  std::vector<SupportedStack> rows = stack.nodes;
  rows.push_back(stack.all);
  TableOf<SupportedStack> table(std::move(rows));
  table.show_left("node", &SupportedStack::name, 20);
  table.show_left("GPUs", &SupportedStack::gpus, 22);
  table.show_left("driver", [](const SupportedStack& one) {
    return one.driver ? one.driver->text() : one.gpus.empty() ? "" : "any";
  });
  table.show_left("branches", branch_text);
  table.show_left("CUDA", cuda_text, 20);
  table.show_left("newest PyTorch", wheel_text);

  Section section{
      "common_stack", "Newest software that all of these GPUs run", {View{table.table()}}};
  if (stack.all.newest_cuda || stack.all.no_common_branch)
    section.add("  Drivers", drivers_text(stack), k_answer_hang);
  if (!stack.held_back_by.empty())
    section.add("  Held back by",
                base::join(stack.held_back_by, ", ") +
                    (stack.held_back_by.size() == 1
                         ? ": the others can run newer software without it"
                         : ": the others can run newer software without any one of these"),
                k_answer_hang);
  section.add("  Tables of", knowledge::tables_are_of(), k_answer_hang);
  Object data = values_of(stack.all);
  data.emplace_back("full_driver", version_value(stack.full_driver));
  data.emplace_back("least_driver", version_value(stack.least_driver));
  data.emplace_back("held_back_by", stack.held_back_by);
  List nodes;
  for (const SupportedStack& one : stack.nodes)
    nodes.push_back(values_of(one));
  data.emplace_back("nodes", std::move(nodes));
  return {.sections = {std::move(section)}, .data = {{"common_stack", std::move(data)}}};
}

} // namespace ncclprobe::analysis
