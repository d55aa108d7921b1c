// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/flow.h"

#include <algorithm>
#include <deque>

namespace ncclprobe::topology {
namespace {

constexpr double k_nothing = 1e-9; // GB/s that rounding may leave

} // namespace

void FlowNetwork::add_link(int from, int to, double capacity, std::string label) {
  edges_of_[static_cast<std::size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity, std::move(label)});
  edges_of_[static_cast<std::size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0, ""});
}

namespace {

// One search for a flow, on capacities that are used up as it goes.
class Search {
public:
  Search(const std::vector<std::vector<int>>& edges_of, const std::vector<int>& targets,
         std::vector<double> free)
      : edges_of_(edges_of), targets_(targets), free_(std::move(free)) {}

  double most(int source, int sink) {
    double total = 0;
    while (find_levels(source, sink)) {
      next_.assign(edges_of_.size(), 0);
      while (double pushed = push(source, sink, FlowNetwork::k_unlimited)) {
        if (pushed == FlowNetwork::k_unlimited)
          return pushed;
        total += pushed;
      }
    }
    return total;
  }
  // After most(): whether a point is on the source's side.
  bool reached(int point) const { return level_[static_cast<std::size_t>(point)] >= 0; }

private:
  bool find_levels(int source, int sink) {
    level_.assign(edges_of_.size(), -1);
    level_[static_cast<std::size_t>(source)] = 0;
    std::deque<int> queue{source};
    while (!queue.empty()) {
      int point = queue.front();
      queue.pop_front();
      for (int edge : edges_of_[static_cast<std::size_t>(point)]) {
        int to = targets_[static_cast<std::size_t>(edge)];
        if (free_[static_cast<std::size_t>(edge)] <= k_nothing || reached(to))
          continue;
        level_[static_cast<std::size_t>(to)] = level_[static_cast<std::size_t>(point)] + 1;
        queue.push_back(to);
      }
    }
    return reached(sink);
  }

  double push(int point, int sink, double most) {
    if (point == sink)
      return most;
    auto here = static_cast<std::size_t>(point);
    for (std::size_t& i = next_[here]; i < edges_of_[here].size(); ++i) {
      auto edge = static_cast<std::size_t>(edges_of_[here][i]);
      int to = targets_[edge];
      if (free_[edge] <= k_nothing || level_[static_cast<std::size_t>(to)] != level_[here] + 1)
        continue;
      double pushed = push(to, sink, std::min(most, free_[edge]));
      if (pushed == 0)
        continue;
      if (free_[edge] != FlowNetwork::k_unlimited)
        free_[edge] -= pushed;
      if (pushed != FlowNetwork::k_unlimited)
        free_[edge ^ 1U] += pushed;
      return pushed;
    }
    return 0;
  }

  const std::vector<std::vector<int>>& edges_of_;
  const std::vector<int>& targets_;
  std::vector<double> free_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

} // namespace

FlowNetwork::Cut FlowNetwork::narrowest(const std::vector<int>& sources,
                                        const std::vector<int>& sinks) const {
  FlowNetwork whole = *this;
  int source = whole.add_point();
  int sink = whole.add_point();
  for (int point : sources)
    whole.add_link(source, point, k_unlimited);
  for (int point : sinks)
    whole.add_link(point, sink, k_unlimited);
  std::vector<int> targets;
  std::vector<double> free;
  for (const Edge& edge : whole.edges_) {
    targets.push_back(edge.to);
    free.push_back(edge.capacity);
  }
  Search search(whole.edges_of_, targets, std::move(free));
  Cut cut;
  cut.capacity = search.most(source, sink);
  if (cut.capacity == k_unlimited)
    return cut;
  for (std::size_t i = 0; i < edges_.size(); i += 2) {
    bool leaves = search.reached(edges_[i + 1].to) && !search.reached(edges_[i].to);
    if (leaves && edges_[i].capacity > 0 &&
        std::ranges::find(cut.links, edges_[i].label) == cut.links.end())
      cut.links.push_back(edges_[i].label);
  }
  return cut;
}

} // namespace ncclprobe::topology
