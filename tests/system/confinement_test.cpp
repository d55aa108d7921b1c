// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/confinement.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

TEST_CASE("the tightest limit between a control group and the top counts") {
  support::FileTree tree;
  tree.file("proc/self/cgroup", "0::/jobs/one\n")
      .file("sys/fs/cgroup/jobs/memory.max", "8589934592\n")
      .file("sys/fs/cgroup/jobs/one/memory.max", "max\n")
      .file("sys/fs/cgroup/jobs/one/memory.current", "1073741824\n")
      .file("sys/fs/cgroup/jobs/one/cpu.max", "250000 100000\n")
      .file("sys/fs/cgroup/jobs/one/pids.max", "4096\n")
      .file("sys/fs/cgroup/jobs/one/pids.current", "17\n");

  model::Confinement found = system::confinement(tree.root());

  CHECK(found.memory_limit_bytes == 8589934592ULL);
  CHECK(found.memory_used_bytes == 1073741824ULL);
  CHECK(found.cpus == 2.5);
  CHECK(found.pids_limit == 4096U);
  CHECK(found.pids_used == 17U);
  CHECK(found.container.empty());
}

TEST_CASE("a control group without limits has none") {
  support::FileTree tree;
  tree.file("proc/self/cgroup", "0::/\n")
      .file("sys/fs/cgroup/memory.max", "max\n")
      .file("sys/fs/cgroup/cpu.max", "max 100000\n");

  model::Confinement found = system::confinement(tree.root());

  CHECK(found == model::Confinement{});
}

TEST_CASE("limits of the first version of control groups are read") {
  support::FileTree tree;
  tree.file("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n3:pids:/job\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576\n")
      .file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n")
      .file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n")
      .file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/pids/job/pids.max", "max\n");

  model::Confinement found = system::confinement(tree.root());

  CHECK(found.memory_limit_bytes == 1048576U);
  CHECK(found.memory_used_bytes == 4096U);
  CHECK(found.cpus == 0.5);
  CHECK_FALSE(found.pids_limit);
}

TEST_CASE("a container shows by the file that its engine leaves") {
  support::FileTree tree;
  tree.file(".dockerenv", "");

  CHECK(system::confinement(tree.root()).container == "/.dockerenv");
}

TEST_CASE("a path that climbs out of the hierarchy is not followed") {
  support::FileTree tree;
  tree.file("proc/self/cgroup", "0::/../../other\n").file("sys/fs/cgroup/memory.max", "77\n");

  CHECK(system::confinement(tree.root()).memory_limit_bytes == 77U);
}
