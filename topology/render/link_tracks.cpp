// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/link_tracks.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::topology {

namespace {

constexpr double k_apart = 8; // between two routes on one track

double middle(const GpuEdge& edge) {
  return (edge.left + edge.right) / 2;
}

// One end of a bundle at a GPU. The order of ends avoids crossings between lines of one GPU: from
// left to right first those to the left, the nearest first; then to the NVSwitches; then to the
// right, the nearest last.
struct End {
  std::size_t route = 0;
  bool first = true;   // of the bundle
  double distance = 0; // to the other GPU, negative to the left
  auto order() const {
    int side = distance < 0 ? 0 : distance == 0 ? 1 : 2;
    return std::tuple(side, -distance);
  }
};

void give_ends(std::vector<LinkRoute>& routes, const std::map<int, GpuEdge>& edges) {
  std::map<int, std::vector<End>> ends;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const NvlinkBundle& bundle = routes[i].bundle;
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
      (all[i].first ? routes[all[i].route].from : routes[all[i].route].to) = {x, edge.y};
    }
  }
  for (LinkRoute& route : routes) {
    if (!route.bundle.peer)
      route.to = route.from;
    else if (route.to.x < route.from.x)
      std::swap(route.from, route.to);
  }
}

// The shortest lines are highest, each on the highest track with room for it.
int give_tracks(std::vector<LinkRoute>& routes) {
  std::vector<LinkRoute*> order;
  for (LinkRoute& route : routes)
    if (route.bundle.peer)
      order.push_back(&route);
  std::ranges::stable_sort(order, {}, [](const LinkRoute* route) {
    return std::tuple(route->to.x - route->from.x, route->from.x);
  });
  std::vector<std::vector<const LinkRoute*>> tracks;
  for (LinkRoute* route : order) {
    auto has_room = [&](const std::vector<const LinkRoute*>& track) {
      return std::ranges::all_of(track, [&](const LinkRoute* other) {
        return route->to.x + k_apart < other->from.x || other->to.x + k_apart < route->from.x;
      });
    };
    auto track = std::ranges::find_if(tracks, has_room);
    if (track == tracks.end())
      track = tracks.emplace(tracks.end());
    track->push_back(route);
    route->track = static_cast<int>(track - tracks.begin());
  }
  return static_cast<int>(tracks.size());
}

bool reaches_below(const LinkRoute& route, int track) {
  return route.track < 0 || route.track > track;
}

// In the widest gap between the lines that cross the track on their route down.
double label_place(const LinkRoute& route, const std::vector<LinkRoute>& routes) {
  if (route.track < 0)
    return route.from.x;
  std::vector<double> crossings{route.from.x, route.to.x};
  for (const LinkRoute& other : routes)
    for (double x : {other.from.x, other.to.x})
      if (reaches_below(other, route.track) && x > route.from.x && x < route.to.x)
        crossings.push_back(x);
  std::ranges::sort(crossings);
  double best = 0;
  double place = route.from.x;
  for (std::size_t i = 1; i < crossings.size(); ++i)
    if (double gap = crossings[i] - crossings[i - 1]; gap > best + 0.5) {
      best = gap;
      place = (crossings[i] + crossings[i - 1]) / 2;
    }
  return place;
}

} // namespace

LinkRoutes route_links(const std::vector<NvlinkBundle>& bundles,
                       const std::map<int, GpuEdge>& edges) {
  LinkRoutes routed;
  for (const NvlinkBundle& bundle : bundles) {
    routed.routes.push_back({bundle});
    routed.switches = routed.switches || !bundle.peer;
  }
  give_ends(routed.routes, edges);
  routed.tracks = give_tracks(routed.routes);
  for (LinkRoute& route : routed.routes)
    route.label_x = label_place(route, routed.routes);
  return routed;
}

} // namespace ncclprobe::topology
