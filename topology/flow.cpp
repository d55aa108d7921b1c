// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/flow.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cmath>
#include <cstdint>

namespace ncclprobe::topology {
namespace {

// Boost's algorithms compare with zero, so they need whole numbers.
constexpr double k_units = 1e6; // for a capacity of 1

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Edge {
  std::int64_t capacity = 0;
  Traits::edge_descriptor reverse;
  std::int64_t residual = 0;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

void add_edges(Graph& graph, int from, int to, std::int64_t capacity) {
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  const auto there = boost::add_edge(a, b, Edge{capacity, {}}, graph).first;
  const auto back = boost::add_edge(b, a, Edge{0, there}, graph).first;
  graph[there].reverse = back;
}

} // namespace

FlowNetwork::Cut FlowNetwork::narrowest(const std::vector<int>& sources,
                                        const std::vector<int>& sinks) const {
  std::int64_t unlimited = 1; // more than all limited links together
  for (const Link& link : links_)
    if (link.capacity != k_unlimited)
      unlimited += std::llround(link.capacity * k_units);
  Graph graph(static_cast<std::size_t>(points_) + 2);
  for (const Link& link : links_)
    add_edges(graph, link.from, link.to,
              link.capacity == k_unlimited ? unlimited : std::llround(link.capacity * k_units));
  const int source = points_, sink = points_ + 1;
  for (int point : sources)
    add_edges(graph, source, point, unlimited);
  for (int point : sinks)
    add_edges(graph, point, sink, unlimited);

  std::vector<Traits::edge_descriptor> before(num_vertices(graph));
  std::vector<boost::default_color_type> side(num_vertices(graph));
  std::vector<std::size_t> distance(num_vertices(graph));
  const auto index = get(boost::vertex_index, graph);
  const std::int64_t most = boost::boykov_kolmogorov_max_flow(
      graph, get(&Edge::capacity, graph), get(&Edge::residual, graph), get(&Edge::reverse, graph),
      boost::make_iterator_property_map(before.begin(), index),
      boost::make_iterator_property_map(side.begin(), index),
      boost::make_iterator_property_map(distance.begin(), index), index,
      static_cast<std::size_t>(source), static_cast<std::size_t>(sink));
  Cut cut;
  if (most >= unlimited) {
    cut.capacity = k_unlimited;
    return cut;
  }
  const auto reached = [&](int point) { // from the sources, by links that are not full
    return side[point] == boost::black_color;
  };
  for (const Link& link : links_) {
    if (link.capacity == 0 || !reached(link.from) || reached(link.to))
      continue;
    cut.capacity += link.capacity;
    if (std::ranges::find(cut.links, link.label) == cut.links.end())
      cut.links.push_back(link.label);
  }
  return cut;
}

} // namespace ncclprobe::topology
