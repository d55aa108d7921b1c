// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels of a training step other than matrix products. Types are f32, f16 and bf16; addresses are
// multiples of the element's size. Each call enqueues one kernel on a stream of the current device
// and returns the launch's error code. `multiprocessors`: the device's count.
namespace ncclprobe::nvidia {

// Like load_kernels() in kernels.h.
cudaError_t load_compute_kernels();

// into[i] = from[i], rounded to nearest even.
cudaError_t enqueue_convert(const std::byte* from, model::DataType from_type, std::byte* into,
                            model::DataType into_type, std::uint64_t count, int multiprocessors,
                            cudaStream_t stream);

// A step of AdamW (backend/adamw.h). `moments`: two per element, one array after the other.
cudaError_t enqueue_adamw(const std::byte* gradients, std::byte* weights, float* moments,
                          model::DataType type, std::uint64_t count, int multiprocessors,
                          cudaStream_t stream);

} // namespace ncclprobe::nvidia
