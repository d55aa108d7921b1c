// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/flow.h"

using ncclprobe::topology::FlowNetwork;

TEST_CASE("the most that flows is what the narrowest links carry, and these are named") {
  FlowNetwork network;
  int a = network.add_point();
  int b = network.add_point();
  int c = network.add_point();
  int d = network.add_point();
  network.add_link(a, b, 3, "ab");
  network.add_link(a, c, 2, "ac");
  network.add_link(b, d, 2, "bd");
  network.add_link(c, d, 4, "cd");
  network.add_link(b, c, 5, "bc");

  FlowNetwork::Cut cut = network.narrowest({a}, {d});
  CHECK(cut.capacity == Approx(5));
  CHECK(cut.links == std::vector<std::string>{"ab", "ac"});
  CHECK(network.narrowest({a, b}, {d}).capacity == Approx(6));
  CHECK(network.narrowest({d}, {a}).capacity == 0);
  network.add_link(a, d, FlowNetwork::k_unlimited, "ad");
  CHECK(network.narrowest({a}, {d}).capacity == FlowNetwork::k_unlimited);
}
