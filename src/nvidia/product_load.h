// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/buffer.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/handles.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace ncclprobe::nvidia {

class GpuStream;

// Keeps a whole GPU busy for given times, with products of matrices. The matrices are zeros, so
// that the load draws little power.
class ProductLoad {
public:
  // Measures how long one product takes, in some milliseconds. Errors: unsupported, without
  // cuBLASLt.
  ProductLoad(GpuStream& stream, std::shared_ptr<CudaGpu> gpu);

  // Products for most of the time, then a kernel that waits for its end. The load lasts as asked,
  // unless the products are slowed down by more than that rest.
  void enqueue(std::uint64_t duration_ns);

private:
  backend::GemmCall product();
  void enqueue_begin();
  void enqueue_end(std::uint64_t after_ns); // ends the load so long after its begin
  // Mean duration of what `enqueue_one` enqueues, many times in a row.
  double measure_ns(const std::function<void()>& enqueue_one);

  GpuStream& stream_;
  std::shared_ptr<CudaGpu> gpu_;
  GpuBuffer matrices_;
  DeviceMemory<std::uint64_t> begun_ns_;
  std::uint64_t columns_;
  double product_ns_ = 0;
  double edges_ns_ = 0; // of the kernels before and after the products
};

} // namespace ncclprobe::nvidia
