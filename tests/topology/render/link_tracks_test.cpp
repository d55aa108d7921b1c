// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/render/link_tracks.h"

using namespace ncclprobe::topology;

namespace {

// GPUs of 100 pixels in a row, 20 pixels apart.
std::map<int, GpuEdge> row_of(int gpus) {
  std::map<int, GpuEdge> edges;
  for (int i = 0; i < gpus; ++i)
    edges[i] = {i * 120.0, i * 120.0 + 100, 50};
  return edges;
}

NvlinkBundle between(int a, int b) {
  return {a, b, 1, std::nullopt};
}

} // namespace

TEST_CASE("links to NVSwitches lead straight down from the middle of their GPU") {
  LinkRoutes found = route_links({{0, std::nullopt, 18, {}}, {1, std::nullopt, 18, {}}}, row_of(2));

  CHECK(found.switches);
  CHECK(found.tracks == 0);
  CHECK(found.routes[1].from.x == 170);
  CHECK(found.routes[1].to.x == 170);
  CHECK(found.routes[1].from.y == 50);
}

TEST_CASE("links beside each other share a track, those that overlap do not") {
  LinkRoutes pairs = route_links({between(0, 1), between(2, 3)}, row_of(4));
  CHECK(pairs.tracks == 1);

  LinkRoutes mesh = route_links({between(0, 1), between(0, 2), between(1, 2)}, row_of(3));
  CHECK(mesh.tracks == 2);
  for (const LinkRoute& route : mesh.routes)
    for (const LinkRoute& other : mesh.routes) {
      bool apart = route.to.x < other.from.x || other.to.x < route.from.x;
      CHECK((&route == &other || route.track != other.track || apart));
    }
}

TEST_CASE("no two lines leave a GPU at one place, and none leaves beside it") {
  auto edges = row_of(4);
  LinkRoutes mesh = route_links(
      {between(0, 1), between(0, 2), between(0, 3), between(1, 2), between(1, 3), between(2, 3)},
      edges);

  REQUIRE(mesh.routes.size() == 6);
  std::vector<double> ends;
  for (const LinkRoute& route : mesh.routes)
    for (auto [end, gpu] : {std::pair(route.from.x, route.bundle.gpu),
                            std::pair(route.to.x, route.bundle.peer.value())}) {
      CHECK(end > edges[gpu].left);
      CHECK(end < edges[gpu].right);
      CHECK(std::ranges::find(ends, end) == ends.end());
      ends.push_back(end);
    }
}

TEST_CASE("a number stands where no line crosses its track") {
  LinkRoutes mesh = route_links(
      {between(0, 1), between(0, 2), between(0, 3), between(1, 2), between(1, 3), between(2, 3)},
      row_of(4));

  REQUIRE(mesh.routes.size() == 6);
  for (const LinkRoute& route : mesh.routes)
    for (const LinkRoute& other : mesh.routes)
      for (double x : {other.from.x, other.to.x})
        if (other.track > route.track)
          CHECK(std::abs(x - route.label_x) > 10);
}
