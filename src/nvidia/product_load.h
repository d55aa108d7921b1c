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

// Keeps a whole GPU busy for given times, with products of matrices. The matrices are zeros, so the
// load draws little power and does not slow the clocks down.
class ProductLoad {
public:
  // Measures how long one product takes on the idle GPU, in some milliseconds. Errors: unsupported,
  // without cuBLASLt.
  ProductLoad(GpuStream& stream, std::shared_ptr<CudaGpu> gpu);

  // Products for most of the time, then a kernel that waits for its end. So the load lasts exactly
  // as long unless the products are slowed down by more than that rest, as kernels of a job would
  // be.
  void enqueue(std::uint64_t duration_ns);

private:
  backend::GemmCall product();
  void enqueue_begin();
  void enqueue_end(std::uint64_t after_ns); // waits until so long after the begin
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
