// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_builder.h"
#include "topology/rank_sets.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using ncclprobe::topology_test::HostBuilder;

namespace {

// Two GPUs below one switch on each of two NUMA nodes.
Host box(const std::string& name) {
  HostBuilder builder(name);
  builder.numa(0, 0, 4).numa(1, 4, 4);
  for (int node = 0; node < 2; ++node) {
    int bridge = builder.pci_switch(fmt::format("0000:{}0:00.0", node), node);
    builder.gpu(fmt::format("0000:{}1:00.0", node), bridge, node);
    builder.gpu(fmt::format("0000:{}2:00.0", node), bridge, node);
  }
  return builder.host();
}

// Pairs in which neighbours of a chain are nearest.
Distances chain(int ranks) {
  Distances distances(static_cast<std::size_t>(ranks),
                      std::vector<double>(static_cast<std::size_t>(ranks)));
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < ranks; ++b)
      distances[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = std::abs(a - b);
  return distances;
}

} // namespace

TEST_CASE("the nearest ranks share a switch, and spread ones do not") {
  // Ranks take the GPUs of the two nodes in turn.
  Distances distances = rank_distances({{box("a")}}, {{0, 0}, {0, 2}, {0, 1}, {0, 3}});

  CHECK(choose_ranks(distances, 2, RankChoice::nearest) == std::vector<int>{0, 2});
  CHECK(choose_ranks(distances, 2, RankChoice::spread) == std::vector<int>{0, 1});
  CHECK(choose_ranks(distances, 1, RankChoice::nearest) == std::vector<int>{0});
  CHECK(choose_ranks(distances, 4, RankChoice::spread) == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("another host is farther than anything on one") {
  Distances distances = rank_distances({{box("a"), box("b")}}, {{0, 0}, {1, 0}, {0, 3}, {1, 3}});

  CHECK(choose_ranks(distances, 2, RankChoice::nearest) == std::vector<int>{0, 2});
  CHECK(choose_ranks(distances, 2, RankChoice::spread) == std::vector<int>{0, 1});
}

TEST_CASE("more NVLinks are nearer, and NVLinks nearer than any switch") {
  Host host = box("a");
  auto state = [&](int a, int b, int links) {
    host.stated_paths.push_back(
        {{DeviceKind::gpu, a}, {DeviceKind::gpu, b}, {PathType::nvlink, links}, Source::synthetic});
  };
  state(0, 3, 4);
  state(1, 2, 2);
  Distances distances = rank_distances({{host}}, {{0, 0}, {0, 1}, {0, 2}, {0, 3}});

  CHECK(distances[0][3] == Approx(0.25));
  CHECK(distances[0][3] < distances[1][2]);
  CHECK(distances[1][2] < distances[0][1]);
  CHECK(choose_ranks(distances, 2, RankChoice::nearest) == std::vector<int>{0, 3});
}

TEST_CASE("where nothing is known the first ranks are taken") {
  Distances distances = rank_distances({{box("a")}}, {{0, {}}, {0, {}}, {0, {}}, {0, {}}});

  CHECK(choose_ranks(distances, 2, RankChoice::nearest) == std::vector<int>{0, 1});
  CHECK(choose_ranks(distances, 3, RankChoice::spread) == std::vector<int>{0, 1, 2});
}

TEST_CASE("too many sets to try them all are chosen from one by one") {
  CHECK(choose_ranks(chain(64), 32, RankChoice::nearest).size() == 32);
  CHECK(choose_ranks(chain(64), 2, RankChoice::spread) == std::vector<int>{0, 63});
  std::vector<int> near = choose_ranks(chain(64), 20, RankChoice::nearest);
  CHECK(near.back() - near.front() == 19);
}

TEST_CASE("there are no sets of more ranks than there are") {
  CHECK(choose_ranks(chain(4), 5, RankChoice::nearest).empty());
  CHECK(choose_ranks(chain(4), 0, RankChoice::nearest).empty());
}
