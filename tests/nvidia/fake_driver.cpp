// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Replaces libcuda.so.1 for the question which CUDA the driver supports: the answer is in
// FAKE_CUDA_DRIVER, such as 12040. Without it the question fails, as with a broken driver.
#include <cstdlib>

extern "C" int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_CUDA_DRIVER");
  *version = text != nullptr ? std::atoi(text) : 0;
  return text != nullptr ? 0 : 3;
}
