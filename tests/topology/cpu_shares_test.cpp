// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/cpu_shares.h"

using namespace ncclprobe::topology;

namespace {

using Lists = std::vector<std::vector<int>>;

// Four cores with two hyperthreads each, as Linux usually numbers them.
const Cores k_cores{{0, 4}, {1, 5}, {2, 6}, {3, 7}};
const std::vector<int> k_all{0, 1, 2, 3, 4, 5, 6, 7};

} // namespace

TEST_CASE("whole cores are dealt out, with all their hyperthreads") {
  CHECK(share_cpus(k_all, k_cores, 2) == Lists{{0, 1, 4, 5}, {2, 3, 6, 7}});
  CHECK(share_cpus(k_all, k_cores, 4) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(share_cpus({0, 1, 4, 5}, k_cores, 2) == Lists{{0, 4}, {1, 5}});
}

TEST_CASE("siblings with numbers next to each other are no different") {
  const Cores k_next{{0, 1}, {2, 3}, {4, 5}, {6, 7}};

  CHECK(share_cpus(k_all, k_next, 4) == Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
}

TEST_CASE("only if there are too few cores, ranks share one, and then all of them") {
  CHECK(share_cpus({0, 1, 4, 5}, k_cores, 4) == Lists{{0}, {1}, {4}, {5}});
  CHECK(share_cpus({0, 4}, k_cores, 3) == Lists{{0, 4}, {0, 4}, {0, 4}});
}

TEST_CASE("where cores are unknown each range of numbers is divided") {
  CHECK(share_cpus(k_all, std::nullopt, 2) == Lists{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(share_cpus({0, 1, 32, 33}, std::nullopt, 2) == Lists{{0, 32}, {1, 33}});
  CHECK(share_cpus({0, 1, 2, 9}, std::nullopt, 2) == Lists{{0, 1}, {2, 9}}); // cannot be
}

TEST_CASE("a CPU that is in no core counts as one") {
  CHECK(share_cpus({0, 4, 99}, k_cores, 2) == Lists{{0, 4}, {99}});
  CHECK(count_cores({0, 4, 99}, k_cores) == 2);
  CHECK(share_cpus({}, k_cores, 2) == Lists{{}, {}});
}
