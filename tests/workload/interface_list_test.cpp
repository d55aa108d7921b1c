// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/interface_list.h"

using namespace ncclprobe::workload;

TEST_CASE("interface lists match as NCCL matches them") {
  CHECK(matches_interface_list("eth", "eth0"));
  CHECK(matches_interface_list("ib0,eth0:1", "eth0"));
  CHECK_FALSE(matches_interface_list("=eth", "eth0"));
  CHECK_FALSE(matches_interface_list("^docker,lo", "lo"));
  CHECK(matches_interface_list("^docker,lo", "eth0"));
}
