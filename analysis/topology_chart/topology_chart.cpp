// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/topology_chart/topology_chart.h"

#include "base/name_ranks.h"
#include "base/text_layout.h"
#include "topology/derive.h"
#include "topology/outline.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using topology::Outline;
using topology::OutlineNode;

constexpr std::size_t k_most_pictures = 8;
constexpr const char* k_switches = "nvswitches";

struct Row {
  std::string id;
  std::string kind;
  std::string inside;
  std::string to;
  std::string title;
  std::vector<std::string> details;
  bool operator==(const Row&) const = default;
};

std::string gpu_id(int index) {
  return fmt::format("gpu{}", index);
}

// Parents before children.
void add_boxes(const OutlineNode& node, const std::string& inside, const RanksOfGpus& ranks,
               std::vector<Row>& rows) {
  Row row{node.id, std::string(base::to_string(node.kind)), inside, "", node.title, node.details};
  for (const auto& [gpu, of_gpu] : ranks)
    if (node.id == gpu_id(gpu))
      row.details.insert(row.details.begin(), base::name_ranks(of_gpu));
  rows.push_back(std::move(row));
  for (const OutlineNode& child : node.children)
    add_boxes(child, node.id, ranks, rows);
}

void add_nvlinks(const Outline& outline, std::vector<Row>& rows) {
  const bool has_switches = std::ranges::any_of(
      outline.nvlinks, [](const topology::NvlinkBundle& one) { return !one.peer; });
  if (has_switches)
    rows.push_back({k_switches, "nvswitch", outline.root.id, "", "NVSwitches", {}});
  for (const topology::NvlinkBundle& one : outline.nvlinks) {
    const std::string to = one.peer ? gpu_id(*one.peer) : k_switches;
    rows.push_back({gpu_id(one.gpu) + "-" + to, "nvlink", gpu_id(one.gpu), to,
                    fmt::format("{} NVLink{}", one.links, one.links == 1 ? "" : "s"),
                    one.gb_per_s ? std::vector{fmt::format("{:g} GB/s", *one.gb_per_s)}
                                 : std::vector<std::string>{}});
  }
}

std::vector<Row> rows_of(const Outline& outline, const RanksOfGpus& ranks) {
  std::vector<Row> rows;
  add_boxes(outline.root, "", ranks, rows);
  add_nvlinks(outline, rows);
  return rows;
}

Chart chart_of(std::string title, std::vector<Row> rows) {
  TableOf<Row> table(std::move(rows));
  table.add("id", &Row::id).titled("id");
  table.add("kind", &Row::kind).titled("kind");
  table.add("inside", &Row::inside).titled("inside, or from");
  table.add("to", &Row::to).titled("to");
  table.add("title", &Row::title).titled("title");
  table.add("details", &Row::details).titled("details");
  return {.kind = ChartKind::boxes, .title = std::move(title), .table = table.table()};
}

// What is drawn of a host but for its names.
std::vector<Row> shape_of(topology::Host host) {
  host.name = {};
  host.id = {};
  return rows_of(topology::outline_of(host, 0), {});
}

RanksOfGpus ranks_of_gpus(const model::RunHeader& header, std::size_t host) {
  RanksOfGpus ranks;
  const model::HostInventory& inventory = header.hosts.at(host);
  for (const model::RankPlace& place : header.ranks) {
    const auto device = static_cast<std::size_t>(place.device);
    if (static_cast<std::size_t>(place.host) != host || device >= inventory.gpus.size())
      continue; // elsewhere, or on the CPU
    if (const topology::Gpu* gpu = inventory.topology.gpu_at(inventory.gpus[device].pci_bus_id))
      ranks[gpu->index].push_back(place.rank);
  }
  return ranks;
}

} // namespace

std::vector<Chart> topology_charts(const std::vector<PicturedHost>& hosts) {
  struct Picture {
    std::size_t first = 0; // of the hosts that it shows
    std::size_t hosts = 0;
    std::vector<Row> shape;
  };
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].host == topology::Host{})
      continue;
    std::vector<Row> shape = shape_of(hosts[i].host);
    auto same = std::ranges::find(pictures, shape, &Picture::shape);
    if (same != pictures.end())
      ++same->hosts;
    else if (pictures.size() < k_most_pictures)
      pictures.push_back({i, 1, std::move(shape)});
  }
  std::vector<Chart> charts;
  for (const Picture& one : pictures) {
    const auto& [host, ranks] = hosts[one.first];
    std::string title = "Topology of host " + topology::host_label(host, one.first);
    if (one.hosts > 1)
      title += " and " + base::count_of(one.hosts - 1, "host", "hosts") + " like it";
    charts.push_back(
        chart_of(std::move(title), rows_of(topology::outline_of(host, one.first), ranks)));
  }
  return charts;
}

std::vector<Chart> topology_charts(const model::RunHeader& header) {
  std::vector<PicturedHost> hosts;
  for (std::size_t i = 0; i < header.hosts.size(); ++i)
    hosts.push_back({header.hosts[i].topology, ranks_of_gpus(header, i)});
  return topology_charts(hosts);
}

} // namespace ncclprobe::analysis
