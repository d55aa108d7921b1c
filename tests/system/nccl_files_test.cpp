// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/nccl_files.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

TEST_CASE("the user's file comes before the host's") {
  support::FileTree tree;
  tree.file("home/a/.nccl.conf", "# mine\nNCCL_DEBUG=WARN\n\nnonsense\n")
      .file("etc/nccl.conf", "NCCL_SOCKET_IFNAME=eth0\nNCCL_ALGO=a=b\n");

  auto files = system::nccl_files({}, "/home/a", tree.root());

  CHECK(files == std::vector<model::NcclFile>{
                     {"/home/a/.nccl.conf", {{"NCCL_DEBUG", "WARN"}}},
                     {"/etc/nccl.conf", {{"NCCL_SOCKET_IFNAME", "eth0"}, {"NCCL_ALGO", "a=b"}}}});
}

TEST_CASE("a file named by NCCL_CONF_FILE replaces the user's") {
  support::FileTree tree;
  tree.file("home/a/.nccl.conf", "NCCL_DEBUG=WARN\n").file("opt/my.conf", "NCCL_DEBUG=INFO\n");

  for (const auto& [named, path] : {std::pair{"/opt/my.conf", "/opt/my.conf"},
                                    std::pair{"", "/home/a/.nccl.conf"}}) { // empty: as if not set
    auto files = system::nccl_files({{"NCCL_CONF_FILE", named}}, "/home/a", tree.root());
    REQUIRE(files.size() == 1);
    CHECK(files[0].path == path);
  }
}

TEST_CASE("a switched-off file of settings is not a file") {
  support::FileTree tree;
  tree.file("home/a/.nccl.conf", "NCCL_DEBUG=WARN\n");

  CHECK(system::nccl_files({{"NCCL_CONF_FILE", "/dev/null"}}, "/home/a", tree.root()).empty());
}
