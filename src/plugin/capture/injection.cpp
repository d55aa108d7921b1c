// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_recorder.h"

#include <cstdlib>

// CUDA calls this when it starts (CUDA_INJECTION64_PATH), before it creates a context. Nothing is
// recorded yet: that begins with the first communicator. The library is the same as the one that
// NCCL loads, so both find the same state.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  try {
    if (const char* wanted = std::getenv("NCCLPROBE_CAPTURE_CUDA");
        wanted != nullptr && *wanted != '\0')
      ncclprobe::plugin::prepare_kernel_recording();
  } catch (const std::exception&) { // no memory: CUDA starts without
  }
  return 1; // CUDA takes 0 as a failure
}
