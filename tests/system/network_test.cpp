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

TEST_CASE("a name's addresses are those of its lines in the hosts file") {
  support::FileTree tree;
  tree.file("etc/hosts", "127.0.0.1\tlocalhost\n127.0.1.1 node1.example node1 # node2\n\n"
                         "# 192.0.2.1 node1\n192.0.2.2 node1\n192.0.2.3 node2\n");

  CHECK(system::addresses_in_hosts_file("node1", tree.root()) ==
        std::vector<std::string>{"127.0.1.1", "192.0.2.2"});
  CHECK(system::addresses_in_hosts_file("node2", tree.root()) ==
        std::vector<std::string>{"192.0.2.3"});
  CHECK(system::addresses_in_hosts_file("node3", tree.root()).empty());
}
