// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/graphs.h"

#include "base/json_optional.h"
#include "base/number_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ncclprobe::topology {

namespace {

// "GPU 0 > 1 > 2 > 0", between the networks at both ends if there are any.
std::string order_of(const NcclGraph& graph, const NcclChannel& channel) {
  std::vector<std::int64_t> gpus = channel.gpus;
  bool closed = graph.id == 0 && !channel.net_in && gpus.size() > 1;
  if (closed)
    gpus.push_back(gpus.front());
  std::string text = fmt::format("GPU {}", fmt::join(gpus, " > "));
  if (channel.net_in)
    text = fmt::format("NIC {} > {}", *channel.net_in, text);
  if (channel.net_out)
    text += fmt::format(" > NIC {}", *channel.net_out);
  return text;
}

std::string graph_text(const NcclGraph& graph) {
  if (graph.channels.empty())
    return graph.name() + ": not used on this machine\n";
  std::string text = fmt::format(
      "{}: {} channel{}, {:.6g} GB/s each inside a node ({})", graph.name(), graph.channels.size(),
      graph.channels.size() == 1 ? "" : "s", graph.gb_per_s_intra, graph.path_intra);
  bool crosses = std::ranges::any_of(
      graph.channels, [](const NcclChannel& channel) { return channel.net_in.has_value(); });
  if (crosses)
    text += fmt::format(", {:.6g} GB/s between nodes ({})", graph.gb_per_s_inter, graph.path_inter);
  text += '\n';
  std::vector<std::pair<std::string, std::vector<int>>> orders; // and the channels that have it
  for (std::size_t i = 0; i < graph.channels.size(); ++i) {
    std::string order = order_of(graph, graph.channels[i]);
    auto known = std::ranges::find_if(orders, [&](const auto& one) { return one.first == order; });
    if (known == orders.end())
      known = orders.insert(orders.end(), {order, {}});
    known->second.push_back(static_cast<int>(i));
  }
  for (const auto& [order, channels] : orders)
    text += fmt::format("  channel{} {}: {}\n", channels.size() == 1 ? "" : "s",
                        base::format_number_list(channels), order);
  return text;
}

} // namespace

std::string render_graphs(const std::vector<NcclGraph>& graphs) {
  std::string text = "NCCL's results (its own planning figures, not measured):\n";
  for (const NcclGraph& graph : graphs)
    text += graph_text(graph);
  return text;
}

std::string write_graphs_json(const std::vector<NcclGraph>& graphs) {
  nlohmann::ordered_json document{{"ncclprobe_nccl_graphs", 1},
                                  {"graphs", nlohmann::ordered_json::array()}};
  for (const NcclGraph& graph : graphs) {
    auto channels = nlohmann::ordered_json::array();
    for (const NcclChannel& channel : graph.channels)
      channels.push_back({{"gpus", channel.gpus},
                          {"ranks", channel.ranks},
                          {"net_in", nlohmann::json(channel.net_in)},
                          {"net_out", nlohmann::json(channel.net_out)}});
    document["graphs"].push_back({{"id", graph.id},
                                  {"name", graph.name()},
                                  {"pattern", graph.pattern},
                                  {"gb_per_s_intra", graph.gb_per_s_intra},
                                  {"gb_per_s_inter", graph.gb_per_s_inter},
                                  {"latency_inter_us", graph.latency_inter_us},
                                  {"path_intra", graph.path_intra},
                                  {"path_inter", graph.path_inter},
                                  {"cross_nic", graph.cross_nic},
                                  {"same_channels", graph.same_channels},
                                  {"channels", std::move(channels)}});
  }
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::topology
