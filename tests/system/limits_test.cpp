// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/limits.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

TEST_CASE("limits are read, unlimited ones as absent") {
  support::FileTree tree;
  tree.file("proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max stack size            8388608              unlimited            bytes     \n"
            "Max processes             63000                63000                processes \n"
            "Max open files            1024                 524288               files     \n"
            "Max locked memory         65536                65536                bytes     \n"
            "Max nice priority         0                    0                    \n");

  auto limits = system::limits(tree.root());

  CHECK(limits == std::vector<model::Limit>{{"stack", 8388608U, std::nullopt},
                                            {"nproc", 63000U, 63000U},
                                            {"nofile", 1024U, 524288U},
                                            {"memlock", 65536U, 65536U}});
}

TEST_CASE("a line of limits that is cut off is left out") {
  support::FileTree tree;
  tree.file("proc/self/limits",
            "Max open files            10x                  5\nMax stack size 7");

  CHECK(system::limits(tree.root()).empty());
}
