// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/nccl_graph.h"

#include "topology/read/xml.h"

#include <set>

namespace ncclprobe::topology {

using pugi::xml_node;

namespace {

constexpr int k_most_channels = 4096;

Result<std::int64_t> required(const XmlFile& file, const xml_node& node, const char* attribute) {
  NCCLPROBE_TRY_ASSIGN(auto value, file.whole_number(node, attribute));
  if (!value)
    return file.fail_at(node, "<{}> without {}", node.name(), attribute);
  return *value;
}

Result<NcclChannel> read_channel(const XmlFile& file, const xml_node& node) {
  NcclChannel channel;
  for (xml_node child : node.children()) {
    std::string_view kind = child.name();
    if (kind != "gpu" && kind != "net")
      continue;
    NCCLPROBE_TRY_ASSIGN(std::int64_t device, required(file, child, "dev"));
    if (kind == "net") {
      (channel.gpus.empty() ? channel.net_in : channel.net_out) = device;
      continue;
    }
    channel.gpus.push_back(device);
    NCCLPROBE_TRY_ASSIGN(auto rank, file.whole_number(child, "rank"));
    if (rank)
      channel.ranks.push_back(static_cast<int>(*rank));
  }
  if (!channel.ranks.empty() && channel.ranks.size() != channel.gpus.size())
    return file.fail_at(node, "<channel>: only some of its GPUs have a rank");
  return channel;
}

Result<NcclGraph> read_graph(const XmlFile& file, const xml_node& node) {
  NcclGraph graph;
  NCCLPROBE_TRY_ASSIGN(std::int64_t id, required(file, node, "id"));
  NCCLPROBE_TRY_ASSIGN(std::int64_t pattern, required(file, node, "pattern"));
  NCCLPROBE_TRY_ASSIGN(std::int64_t channels, required(file, node, "nchannels"));
  NCCLPROBE_TRY_ASSIGN(auto intra, file.number(node, "speedintra"));
  NCCLPROBE_TRY_ASSIGN(auto inter, file.number(node, "speedinter"));
  NCCLPROBE_TRY_ASSIGN(auto latency, file.number(node, "latencyinter"));
  NCCLPROBE_TRY_ASSIGN(auto cross_nic, file.whole_number(node, "crossnic"));
  NCCLPROBE_TRY_ASSIGN(auto same, file.whole_number(node, "samechannels"));
  graph.id = static_cast<int>(id);
  graph.pattern = static_cast<int>(pattern);
  graph.gb_per_s_intra = intra.value_or(0);
  graph.gb_per_s_inter = inter.value_or(0);
  graph.latency_inter_us = latency.value_or(0);
  graph.path_intra = node.attribute("typeintra").value();
  graph.path_inter = node.attribute("typeinter").value();
  graph.cross_nic = cross_nic.value_or(0) != 0;
  graph.same_channels = same.value_or(0) != 0;
  for (xml_node child : node.children("channel")) {
    if (graph.channels.size() == k_most_channels)
      return file.fail_at(child, "a graph with more than {} channels", k_most_channels);
    NCCLPROBE_TRY_ASSIGN(NcclChannel channel, read_channel(file, child));
    graph.channels.push_back(std::move(channel));
  }
  if (channels != static_cast<std::int64_t>(graph.channels.size()))
    return file.fail_at(node, "<graph>: nchannels=\"{}\", but it has {} channels", channels,
                        graph.channels.size());
  return graph;
}

} // namespace

std::string NcclGraph::name() const {
  switch (id) {
  case 0:
    return "ring";
  case 1:
    return "tree";
  case 2:
    return "CollNet chain";
  case 3:
    return "NVLS";
  case 4:
    return "CollNet direct";
  default:
    return fmt::format("graph {}", id);
  }
}

Result<std::vector<NcclGraph>> read_nccl_graphs(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY_ASSIGN(XmlFile file, XmlFile::parse(text, name));
  xml_node root = file.root();
  if (std::string_view(root.name()) != "graphs")
    return file.fail_at(root, "graphs of NCCL begin with <graphs>, not <{}>", root.name());
  NCCLPROBE_TRY_ASSIGN(auto version, file.whole_number(root, "version"));
  if (version.value_or(1) != 1)
    return file.fail_at(root, "graph version {}; NCCL and this program only know version 1",
                        *version);
  std::vector<NcclGraph> graphs;
  std::set<int> ids;
  for (xml_node node : root.children("graph")) {
    NCCLPROBE_TRY_ASSIGN(NcclGraph graph, read_graph(file, node));
    if (!ids.insert(graph.id).second)
      return file.fail_at(node, "a second <graph> with id=\"{}\"", graph.id);
    graphs.push_back(std::move(graph));
  }
  if (graphs.empty())
    return file.fail_at(root, "the file has no <graph>");
  return graphs;
}

} // namespace ncclprobe::topology
