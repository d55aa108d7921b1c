// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/node_in_question.h"

#include "analysis/survey/memory_split.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::VersionNumber;

std::string text_of(const model::HostInventory& host, std::string_view library) {
  const model::Library* found = host.library(library);
  return found == nullptr ? "" : found->version;
}

std::optional<VersionNumber> version_in(const std::string& text) {
  auto version = knowledge::parse_version(text);
  return version ? std::optional(*version) : std::nullopt;
}

// "580.159.04 (CUDA 13.0)" -> 13.0
std::optional<VersionNumber> cuda_of_driver(const std::string& text) {
  std::size_t cuda = text.find("CUDA ");
  return cuda == std::string::npos ? std::nullopt : version_in(text.substr(cuda + 5));
}

// The models of its name that match the observed data.
Result<GpuInQuestion> seen_gpu(const model::CudaDevice& seen) {
  const double gb = static_cast<double>(seen.memory_bytes) / 1e9;
  GpuInQuestion gpu{.name = seen.name,
                    .capability = {},
                    .models = knowledge::with_memory(knowledge::find_gpu_models(seen.name), gb),
                    .memory_gb = gb,
                    .nvlinks = seen.nvlinks};
  auto capability = knowledge::parse_compute_capability(seen.compute_capability);
  if (!capability && gpu.models.empty())
    return base::fail(std::move(capability.error()));
  gpu.capability = capability ? *capability : gpu.models.front()->capability;
  // One name may belong to two generations ("RTX 4000"); a GPU that was seen belongs to one.
  std::erase_if(gpu.models,
                [&](const knowledge::GpuModel* one) { return one->capability != gpu.capability; });
  return gpu;
}

Result<std::vector<NodeInQuestion>>
nodes_of_hosts(const std::vector<const model::HostInventory*>& hosts) {
  std::vector<NodeInQuestion> nodes;
  for (const model::HostInventory* host : hosts) {
    if (host->gpus.empty())
      continue;
    NCCLPROBE_TRY_ASSIGN(NodeInQuestion node, node_of(*host));
    nodes.push_back(std::move(node));
  }
  if (nodes.empty())
    return base::fail(base::Error{base::Errc::not_found, "no host in it has a GPU",
                                  "give a file that was stored on hosts with GPUs"});
  return nodes;
}

std::optional<NcclFootprint> footprint(const doctor::Case& one) {
  std::optional<NcclFootprint> most;
  for (const doctor::SmokeTest& smoke_test : one.smoke_tests)
    for (const doctor::CommunicatorMemory& memory : smoke_test.communicators)
      if (double gb = static_cast<double>(memory.bytes) / 1e9; !most || gb > most->gb)
        most = {gb, smoke_test.ranks};
  return most;
}

// From the first setting, which is the default if it was measured: others change NCCL's choices.
std::optional<NcclFootprint> footprint(const model::Run& run) {
  std::optional<std::uint64_t> most;
  int ranks = 0;
  const std::vector<MemorySplit> splits = memory_splits(run);
  for (const MemorySplit& rank : splits) {
    if (rank.setting != splits.front().setting)
      continue;
    ++ranks;
    if (rank.connecting_bytes)
      most = std::max(most.value_or(0), *rank.connecting_bytes);
  }
  // Communicators of other backends do not belong to NCCL.
  if (!most || run.header.backend != "nvidia")
    return std::nullopt;
  return NcclFootprint{static_cast<double>(*most) / 1e9, ranks};
}

} // namespace

Result<NodeInQuestion> named_node(const std::string& gpu) {
  NodeInQuestion node{.is_named = true};
  NCCLPROBE_TRY_ASSIGN(GpuInQuestion one, gpu_in_question(gpu));
  node.name = one.name;
  node.gpus.push_back(std::move(one));
  return node;
}

Result<NodeInQuestion> node_of(const model::HostInventory& host) {
  NodeInQuestion node{.name = host.hostname};
  const std::string driver = text_of(host, "cuda_driver");
  node.driver = version_in(driver);
  node.software = {cuda_of_driver(driver), version_in(text_of(host, "cuda_runtime")),
                   version_in(text_of(host, "nccl")), std::nullopt};
  for (const model::CudaDevice& one : host.gpus) {
    auto same = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const auto& gpu) {
      return gpu.name == one.name && gpu.nvlinks == one.nvlinks;
    });
    if (same != node.gpus.end()) {
      ++same->count;
      continue;
    }
    NCCLPROBE_TRY_ASSIGN(GpuInQuestion gpu, seen_gpu(one));
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

Result<std::vector<NodeInQuestion>> nodes_of(const doctor::Case& one) {
  std::vector<const model::HostInventory*> hosts;
  for (const model::Survey& survey : one.surveys)
    if (std::none_of(hosts.begin(), hosts.end(), [&](const model::HostInventory* host) {
          return host->same_host(survey.inventory);
        }))
      hosts.push_back(&survey.inventory);
  NCCLPROBE_TRY_ASSIGN(auto nodes, nodes_of_hosts(hosts));
  for (NodeInQuestion& node : nodes) {
    node.nccl = footprint(one);
    for (const doctor::LibraryCode& library : one.code) // of NCCL's library alone
      node.software.nccl_cuda = version_in(library.cuda);
  }
  return nodes;
}

Result<std::vector<NodeInQuestion>> nodes_of(const model::Run& run) {
  std::vector<const model::HostInventory*> hosts;
  for (const model::HostInventory& host : run.header.hosts)
    hosts.push_back(&host);
  NCCLPROBE_TRY_ASSIGN(auto nodes, nodes_of_hosts(hosts));
  for (NodeInQuestion& node : nodes)
    node.nccl = footprint(run);
  return nodes;
}

std::string gpus_text(const GpuInQuestion& gpu) {
  return gpu.count > 1 ? fmt::format("{} x {}", gpu.count, gpu.name) : gpu.name;
}

} // namespace ncclprobe::analysis
