// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/link_tracks.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::topology {

namespace {

constexpr double k_apart = 8; // between two ways on one track

double middle(const GpuEdge& edge) {
  return (edge.left + edge.right) / 2;
}

// One end of a bundle at a GPU. Ends are ordered so that ways of one GPU do not cross each other:
// from the left those to the left, the nearest first; to the NVSwitches; to the right, the nearest
// last.
struct End {
  std::size_t way = 0;
  bool first = true;   // of the bundle
  double distance = 0; // to the other GPU, negative to the left
  auto order() const {
    int side = distance < 0 ? 0 : distance == 0 ? 1 : 2;
    return std::tuple(side, -distance);
  }
};

void give_ends(std::vector<LinkWay>& ways, const std::map<int, GpuEdge>& edges) {
  std::map<int, std::vector<End>> ends;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const NvlinkBundle& bundle = ways[i].bundle;
    double distance =
        bundle.peer ? middle(edges.at(*bundle.peer)) - middle(edges.at(bundle.gpu)) : 0;
    ends[bundle.gpu].push_back({i, true, distance});
    if (bundle.peer)
      ends[*bundle.peer].push_back({i, false, -distance});
  }
  for (auto& [gpu, all] : ends) {
    std::ranges::stable_sort(all, {}, &End::order);
    const GpuEdge& edge = edges.at(gpu);
    for (std::size_t i = 0; i < all.size(); ++i) {
      double x = edge.left + (edge.right - edge.left) * static_cast<double>(i + 1) /
                                 static_cast<double>(all.size() + 1);
      (all[i].first ? ways[all[i].way].from : ways[all[i].way].to) = {x, edge.y};
    }
  }
  for (LinkWay& way : ways) {
    if (!way.bundle.peer)
      way.to = way.from;
    else if (way.to.x < way.from.x)
      std::swap(way.from, way.to);
  }
}

// The shortest are the highest, each on the highest track with room for it.
int give_tracks(std::vector<LinkWay>& ways) {
  std::vector<LinkWay*> order;
  for (LinkWay& way : ways)
    if (way.bundle.peer)
      order.push_back(&way);
  std::ranges::stable_sort(order, {}, [](const LinkWay* way) {
    return std::tuple(way->to.x - way->from.x, way->from.x);
  });
  std::vector<std::vector<const LinkWay*>> tracks;
  for (LinkWay* way : order) {
    auto has_room = [&](const std::vector<const LinkWay*>& track) {
      return std::ranges::all_of(track, [&](const LinkWay* other) {
        return way->to.x + k_apart < other->from.x || other->to.x + k_apart < way->from.x;
      });
    };
    auto track = std::ranges::find_if(tracks, has_room);
    if (track == tracks.end())
      track = tracks.emplace(tracks.end());
    track->push_back(way);
    way->track = static_cast<int>(track - tracks.begin());
  }
  return static_cast<int>(tracks.size());
}

bool reaches_below(const LinkWay& way, int track) {
  return way.track < 0 || way.track > track;
}

// In the widest gap between the lines that cross the track on their way further down.
double label_place(const LinkWay& way, const std::vector<LinkWay>& ways) {
  if (way.track < 0)
    return way.from.x;
  std::vector<double> crossings{way.from.x, way.to.x};
  for (const LinkWay& other : ways)
    for (double x : {other.from.x, other.to.x})
      if (reaches_below(other, way.track) && x > way.from.x && x < way.to.x)
        crossings.push_back(x);
  std::ranges::sort(crossings);
  double best = 0;
  double place = way.from.x;
  for (std::size_t i = 1; i < crossings.size(); ++i)
    if (double gap = crossings[i] - crossings[i - 1]; gap > best + 0.5) {
      best = gap;
      place = (crossings[i] + crossings[i - 1]) / 2;
    }
  return place;
}

} // namespace

LinkWays route_links(const std::vector<NvlinkBundle>& bundles,
                     const std::map<int, GpuEdge>& edges) {
  LinkWays routed;
  for (const NvlinkBundle& bundle : bundles) {
    routed.ways.push_back({bundle});
    routed.switches = routed.switches || !bundle.peer;
  }
  give_ends(routed.ways, edges);
  routed.tracks = give_tracks(routed.ways);
  for (LinkWay& way : routed.ways)
    way.label_x = label_place(way, routed.ways);
  return routed;
}

} // namespace ncclprobe::topology
