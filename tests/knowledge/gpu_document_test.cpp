// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// docs/gpus.md, written from the tables: NCCLPROBE_ACCEPT_GOLDEN=1 renews it.
#include "knowledge/document.h"
#include "knowledge/gpu_models.h"
#include "support/catch.h"
#include "support/golden.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ncclprobe::knowledge {
namespace {

constexpr const char* k_introduction =
    R"(# GPUs that ncclprobe knows

`ncclprobe doctor --gpu NAME` uses this table. A test generates this page from
`src/knowledge/data/gpus_*.json`; do not edit it by hand.

- Memory is the size and the bandwidth of one GPU's memory, as published. 1 GB/s is 1e9 bytes/s.
- Tensor-core rates are dense peak rates (without sparsity), by input type.
- PCIe is the generation and the number of lanes: `5 x16`.
- NVLink bandwidth is the sum over all links of one GPU, in **one** direction. Vendors usually quote
  the sum of both directions.
- "bridge" means that NVLink needs a bridge between the GPUs. It may not be installed.
- "unknown" means that no source states the value. Nothing here is guessed.
- If a GPU is not listed, ask by its compute capability: `--gpu sm_89`.
)";

std::string memory_text(const GpuModel& model) {
  if (!model.memory_gb)
    return "unknown";
  std::string text = fmt::format("{:g} GB", *model.memory_gb);
  if (!model.memory_type.empty())
    text += " " + model.memory_type;
  if (model.memory_gb_per_s)
    text += fmt::format(", {:g} GB/s", *model.memory_gb_per_s);
  return text;
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

std::string pcie_text(const GpuModel& model) {
  if (!model.host_link.empty())
    return model.host_link;
  if (!model.on_pcie)
    return "integrated";
  if (!model.pcie_generation)
    return "unknown";
  return model.pcie_width ? fmt::format("{} x{}", *model.pcie_generation, *model.pcie_width)
                          : fmt::format("{}, width unknown", *model.pcie_generation);
}

std::string nvlink_text(const GpuModel& model) {
  if (!model.nvlink)
    return "unknown";
  if (!model.nvlink->present)
    return "none";
  const NvlinkFacts& link = *model.nvlink;
  std::string text = "NVLink " + link.generation;
  if (link.links)
    text += fmt::format(", {} link{}", *link.links, *link.links == 1 ? "" : "s");
  if (link.gb_per_s)
    text += fmt::format(", {:g} GB/s", *link.gb_per_s);
  if (link.bridged_gpus)
    return text + fmt::format(", bridge of {}{}", *link.bridged_gpus > 2 ? "2 to " : "",
                              *link.bridged_gpus);
  return text;
}

std::string sources_text(const GpuModel& model) {
  std::vector<std::string> links;
  for (const std::string& key : model.sources.all()) {
    const bool is_address = key.starts_with("http");
    const std::size_t slashes = is_address ? key.find("//") + 2 : 0;
    const std::string label = key.substr(slashes, key.find('/', slashes) - slashes);
    links.push_back(fmt::format("[{}]({})", label, source_text(key)));
  }
  return fmt::format("{}", fmt::join(links, ", "));
}

// Each with the highest capability that it has, highest first.
std::vector<std::pair<ComputeCapability, std::string>> architectures() {
  std::map<std::string, ComputeCapability> highest;
  for (const GpuModel& one : gpu_models())
    highest[one.architecture] = std::max(highest[one.architecture], one.capability);
  std::vector<std::pair<ComputeCapability, std::string>> sorted;
  for (const auto& [architecture, capability] : highest)
    sorted.emplace_back(capability, architecture);
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
}

std::string document() {
  std::string text = k_introduction;
  for (const auto& [capability, architecture] : architectures()) {
    text += fmt::format(
        "\n## {}\n\n| GPU | Capability | Memory | Tensor cores | PCIe | NVLink | Sources |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n",
        architecture);
    for (const GpuModel& one : gpu_models())
      if (one.architecture == architecture)
        text +=
            fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", one.name, one.capability.text(),
                        memory_text(one), or_unknown(one.tensor_tflops.text()), pcie_text(one),
                        nvlink_text(one), sources_text(one));
  }
  return text;
}

} // namespace

TEST_CASE("the document of GPUs is that of the tables") {
  support::check_golden("../../docs/gpus.md", document());
}

} // namespace ncclprobe::knowledge
