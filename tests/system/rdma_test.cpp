// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/rdma.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

TEST_CASE("ports of RDMA adapters are read") {
  support::FileTree tree;
  std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  tree.file(port + "state", "4: ACTIVE\n")
      .file(port + "rate", "400 Gb/sec (4X NDR)\n")
      .file(port + "link_layer", "InfiniBand\n")
      .file(port + "gids/0", "fe80:0000:0000:0000:b83f:d203:0011:2233\n")
      .file(port + "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n")
      .file("sys/class/infiniband/mlx5_0/ports/notes", "no port");

  CHECK(system::rdma_ports(tree.root()) ==
        std::vector<model::RdmaPort>{
            {"mlx5_0", 1, "ACTIVE", "400 Gb/sec (4X NDR)", "InfiniBand", 1}});
}

TEST_CASE("a host without RDMA has no ports") {
  support::FileTree tree;

  CHECK(system::rdma_ports(tree.root()).empty());
}
