// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/nvlink_domain.h"

using namespace ncclprobe::topology;

namespace {

Gpu gpu_in(const std::string& state, const std::string& cluster, int clique) {
  Gpu gpu;
  gpu.fabric.state = {state, Source::synthetic};
  gpu.fabric.cluster_uuid = {cluster, Source::synthetic};
  gpu.fabric.clique = {clique, Source::synthetic};
  return gpu;
}

const char* const k_cluster = "7d3b24a4-0001-4a53-9f10-c52a8a7d1c0e";

} // namespace

TEST_CASE("GPUs of one cluster and clique are of one domain") {
  auto domain = nvlink_domain(gpu_in("completed", k_cluster, 1));

  REQUIRE(domain);
  CHECK(domain == nvlink_domain(gpu_in("completed", k_cluster, 1)));
  CHECK(domain != nvlink_domain(gpu_in("completed", k_cluster, 2)));
}

TEST_CASE("a fabric that is not ready or ends at its host is no domain") {
  CHECK_FALSE(nvlink_domain(gpu_in("in_progress", k_cluster, 1)));
  CHECK_FALSE(nvlink_domain(gpu_in("completed", "00000000-0000-0000-0000-000000000000", 0)));
  CHECK_FALSE(nvlink_domain(gpu_in("completed", "left-out", 0))); // a machine that was recorded
  CHECK_FALSE(nvlink_domain(Gpu{}));
}
