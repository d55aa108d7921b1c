// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/network.h"

#include "support/catch.h"
#include "support/file_tree.h"

#include <algorithm>

using namespace ncclprobe;

TEST_CASE("this host has a loopback interface; its speed comes from sysfs") {
  support::FileTree tree;
  tree.file("sys/class/net/lo/speed", "25000\n").file("sys/class/net/lo/mtu", "65536\n");

  auto found = system::network_interfaces(tree.root());

  auto loopback =
      std::find_if(found.begin(), found.end(), [](const auto& one) { return one.loopback; });
  if (loopback == found.end())
    NCCLPROBE_SKIP("no loopback interface in this container");
  CHECK(loopback->name == "lo");
  CHECK(loopback->mtu_bytes == 65536);
  CHECK(loopback->speed_mbit_per_s == 25000);
}
