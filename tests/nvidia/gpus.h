// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <string>

namespace ncclprobe::support {

// How many GPUs the nvidia backend can use here; if none, `why_none` says why.
struct Gpus {
  int count = 0;
  std::string why_none;
};
Gpus find_gpus();

// Waits until the stream is idle; fails the test after half a minute.
void wait_until_idle(backend::Stream& stream);

} // namespace ncclprobe::support

// Skips the test case when fewer GPUs than that can be used.
#define NCCLPROBE_NEEDS_GPUS(needed)                                                               \
  do {                                                                                             \
    ::ncclprobe::support::Gpus ncclprobe_gpus = ::ncclprobe::support::find_gpus();                 \
    if (ncclprobe_gpus.count < (needed))                                                           \
      NCCLPROBE_SKIP(ncclprobe_gpus.count == 0 ? ncclprobe_gpus.why_none                           \
                                               : fmt::format("{} GPUs needed, {} here", (needed),  \
                                                             ncclprobe_gpus.count));               \
  } while (false)
