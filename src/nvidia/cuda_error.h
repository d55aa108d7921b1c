// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace ncclprobe::nvidia {

// Throws the error of a CUDA call, with the call's text, CUDA's message and the source location. No
// driver or GPU, or too little memory, becomes Errc::unavailable with advice; everything else
// Errc::failed. Clears the runtime's stored error if possible.
[[noreturn]] void raise_cuda(cudaError_t code, const char* call, const char* file, int line);

// The same as text and code, without throwing.
Error cuda_error(cudaError_t code);

// "12040" -> "12.4".
std::string cuda_version_text(int version);

// File name without its folders.
std::string_view base_name(std::string_view path);

// For destructors: a failed call becomes a log line.
void log_cuda(cudaError_t code, const char* call) noexcept;

} // namespace ncclprobe::nvidia

#define NCCLPROBE_CUDA_CALL(call)                                                                  \
  do {                                                                                             \
    if (cudaError_t ncclprobe_code = (call); ncclprobe_code != cudaSuccess)                        \
      ::ncclprobe::nvidia::raise_cuda(ncclprobe_code, #call, __FILE__, __LINE__);                  \
  } while (false)
