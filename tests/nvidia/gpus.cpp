// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/gpus.h"

#include "base/clock.h"
#include "nvidia/factory.h"
#include "support/catch.h"

#include <chrono>

namespace ncclprobe::support {

Gpus find_gpus() {
  model::HostInventory host;
  nvidia::describe(host);
  if (!host.nvidia_problem.empty())
    return {0, host.nvidia_problem};
  return {static_cast<int>(host.gpus.size()), ""};
}

void wait_until_idle(backend::Stream& stream) {
  auto deadline = base::Deadline::after(std::chrono::seconds(30));
  while (!stream.idle())
    if (deadline.expired())
      FAIL("the stream did not become idle in 30 s");
}

} // namespace ncclprobe::support
