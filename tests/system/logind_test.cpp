// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/logind.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;
using system::removes_shared_memory_at_logout;

namespace {

const system::User k_user{1000, "ada"};

}

TEST_CASE("the last word of logind's files on RemoveIPC counts, else what it was built with") {
  support::FileTree tree;
  tree.file("run/systemd/system/x", "");
  CHECK_FALSE(removes_shared_memory_at_logout(tree.root(), k_user));

  tree.file("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=yes\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == true);
  tree.file("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=yes\nRemoveIPC=no\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == false);
  tree.file("usr/lib/systemd/logind.conf.d/10-site.conf", "[Login]\nRemoveIPC=on\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == true);
  tree.file("etc/systemd/logind.conf.d/10-site.conf", "[Login]\nRemoveIPC=off\n");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == false);
}

TEST_CASE("system users keep their shared memory, and without systemd nobody removes it") {
  support::FileTree tree;
  tree.file("etc/systemd/logind.conf", "RemoveIPC=yes\n");
  CHECK_FALSE(removes_shared_memory_at_logout(tree.root(), k_user));

  tree.file("run/systemd/system/x", "");
  CHECK(removes_shared_memory_at_logout(tree.root(), {0, "root"}) == false);
}

TEST_CASE("a user who lingers keeps their shared memory") {
  support::FileTree tree;
  tree.file("run/systemd/system/x", "");
  tree.file("etc/systemd/logind.conf", "RemoveIPC=yes\n");
  tree.file("var/lib/systemd/linger/bob", "");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == true);
  CHECK(removes_shared_memory_at_logout(tree.root(), {1000, ""}) == true);

  tree.file("var/lib/systemd/linger/ada", "");
  CHECK(removes_shared_memory_at_logout(tree.root(), k_user) == false);
}
