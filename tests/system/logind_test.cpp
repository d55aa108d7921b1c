// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/logind.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;
using system::removes_shared_memory_at_logout;

TEST_CASE("the last word of logind's files on RemoveIPC counts, else what it was built with") {
  support::FileTree tree;
  tree.file("run/systemd/system/x", "");
  CHECK_FALSE(removes_shared_memory_at_logout(tree.root(), 1000));

  tree.file("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=yes\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), 1000) == true);
  tree.file("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=yes\nRemoveIPC=no\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), 1000) == false);
  tree.file("usr/lib/systemd/logind.conf.d/10-site.conf", "[Login]\nRemoveIPC=on\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), 1000) == true);
  tree.file("etc/systemd/logind.conf.d/10-site.conf", "[Login]\nRemoveIPC=off\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), 1000) == false);
}

TEST_CASE("system users keep their shared memory, and without systemd nobody removes it") {
  support::FileTree tree;
  tree.file("etc/systemd/logind.conf", "RemoveIPC=yes\n");
  CHECK_FALSE(removes_shared_memory_at_logout(tree.root(), 1000));

  tree.file("run/systemd/system/x", "");
  CHECK(removes_shared_memory_at_logout(tree.root(), 0) == false);
}
