// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/fleet.h"
#include "support/catch.h"

using namespace ncclprobe;

// Compiled with the source that stands for MPI in a build without it, which no other build
// compiles.
TEST_CASE("a build without MPI says how a launcher's ranks can start") {
  auto fleet = launch::make_mpi_fleet(nullptr, nullptr);

  REQUIRE_FALSE(fleet);
  CHECK(fleet.error().code == base::Errc::unsupported);
  CHECK_THAT(fleet.error().message, ContainsSubstring("NCCLPROBE_MPI=OFF"));
  CHECK_THAT(fleet.error().hint, ContainsSubstring("NCCLPROBE_LAUNCHER=env"));
  CHECK_THAT(launch::mpi_library(), ContainsSubstring("not built"));
}
