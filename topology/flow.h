// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

// How much can flow through a network of links: the most from one set of points to another, and
// which links are what limits it (maximum flow and minimum cut, by Dinic's algorithm).
namespace ncclprobe::topology {

class FlowNetwork {
public:
  static constexpr double k_unlimited = std::numeric_limits<double>::infinity();

  int add_point() {
    edges_of_.emplace_back();
    return static_cast<int>(edges_of_.size()) - 1;
  }
  // One direction; `label` names the link in Cut::links.
  void add_link(int from, int to, double capacity, std::string label = "");

  struct Cut {
    double capacity = 0;            // infinite if nothing limits it
    std::vector<std::string> links; // the links that are full, each label once
  };
  // From all `sources` together to all `sinks` together.
  Cut narrowest(const std::vector<int>& sources, const std::vector<int>& sinks) const;

private:
  struct Edge {
    int to = 0;
    double capacity = 0;
    std::string label;
  };
  std::vector<Edge> edges_; // edge i and its reverse i ^ 1
  std::vector<std::vector<int>> edges_of_;
};

} // namespace ncclprobe::topology
