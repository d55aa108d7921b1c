// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

// The maximum flow through a network of links from one set of nodes to another, and the links that
// limit it (minimum cut).
namespace ncclprobe::topology {

class FlowNetwork {
public:
  static constexpr double k_unlimited = std::numeric_limits<double>::infinity();

  int add_point() { return points_++; }
  // One direction; `label` names the link in Cut::links.
  void add_link(int from, int to, double capacity, std::string label) {
    links_.push_back({from, to, capacity, std::move(label)});
  }

  struct Cut {
    double capacity = 0;            // infinite if nothing limits it
    std::vector<std::string> links; // the links that are full, each label once
  };
  // From all `sources` together to all `sinks` together.
  Cut narrowest(const std::vector<int>& sources, const std::vector<int>& sinks) const;

private:
  struct Link {
    int from = 0;
    int to = 0;
    double capacity = 0;
    std::string label;
  };
  int points_ = 0;
  std::vector<Link> links_;
};

} // namespace ncclprobe::topology
