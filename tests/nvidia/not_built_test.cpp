// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"
#include "support/catch.h"

using namespace ncclprobe;

TEST_CASE("a build without the backend says which option builds it") {
  model::HostInventory host;
  nvidia::describe(host);

  CHECK_THAT(host.nvidia_problem, ContainsSubstring("-DNCCLPROBE_NVIDIA=ON"));
  CHECK_THAT(nvidia::build_description(), ContainsSubstring("-DNCCLPROBE_NVIDIA=ON"));
  try {
    (void)nvidia::make_backend({});
    FAIL("a backend was made");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unsupported);
    CHECK_THAT(error.what(),
               ContainsSubstring("not built") && ContainsSubstring("-DNCCLPROBE_NVIDIA=ON"));
  }
}
