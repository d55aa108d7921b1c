// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/shared_memory.h"

#include "support/catch.h"
#include "support/file_tree.h"

#include <unistd.h>

using namespace ncclprobe;

TEST_CASE("segments of communication libraries are listed with size, age and owner") {
  support::FileTree tree;
  tree.file("nccl-AbC", std::string(4096, 'x')).file("somebody.else", "y");
  auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(tree.root() / "nccl-AbC", hour_ago);

  auto found = system::shared_memory(tree.root());

  REQUIRE(found);
  CHECK(found->size_bytes > 0);
  REQUIRE(found->segments.size() == 1);
  CHECK(found->segments[0].name == "nccl-AbC");
  CHECK(found->segments[0].bytes == 4096);
  CHECK(found->segments[0].age_s >= 3590);
  CHECK(found->segments[0].owner == ::getuid());
}

TEST_CASE("whether a file can be created is tried, and leaves none behind") {
  support::FileTree tree;
  tree.file("nccl-AbC", "x");

  CHECK(system::shared_memory(tree.root())->problem.empty());
  CHECK(std::distance(std::filesystem::directory_iterator(tree.root()), {}) == 1);
  auto nowhere = system::shared_memory("/proc"); // where even root can create none
  REQUIRE(nowhere);
  CHECK_FALSE(nowhere->problem.empty());
}

TEST_CASE("a folder of shared memory that is not there is nothing") {
  CHECK_FALSE(system::shared_memory("/nonexistent/shm"));
}
