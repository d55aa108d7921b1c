// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/nvlink_bundles.h"

#include <map>
#include <vector>

// The lines of NVLinks in a picture: down from a GPU's lower edge, along a horizontal track below
// all boxes, and up to the other GPU; or straight down to the bar of the NVSwitches. Tracks that do
// not overlap share a height.
namespace ncclprobe::topology {

struct GpuEdge { // the lower edge of a GPU's box
  double left = 0;
  double right = 0;
  double y = 0;
};

struct LinkEnd {
  double x = 0;
  double y = 0;
};

struct LinkRoute {
  NvlinkBundle bundle;
  LinkEnd from;   // x where it leaves its GPU; the left end if it leads to a GPU
  LinkEnd to;     // the same if it leads to the NVSwitches
  int track = -1; // from 0, the highest; -1: straight down to the NVSwitches
  double label_x = 0;
};

struct LinkRoutes {
  std::vector<LinkRoute> routes;
  int tracks = 0;
  bool switches = false;
};

// `edges` by Gpu::index.
LinkRoutes route_links(const std::vector<NvlinkBundle>& bundles,
                       const std::map<int, GpuEdge>& edges);

} // namespace ncclprobe::topology
