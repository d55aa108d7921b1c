// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/matrix_products.h"
#include "nvidia/product_load.h"

#include <memory>

namespace ncclprobe::nvidia {

class GpuEvent final : public backend::Event {
public:
  GpuEvent(std::shared_ptr<CudaGpu> gpu, backend::EventUse use);
  cudaEvent_t handle() const { return event_.get(); }
  bool takes_time() const { return takes_time_; }
  bool reached() override;

private:
  std::shared_ptr<CudaGpu> gpu_;
  bool takes_time_;
  EventHandle event_;
};

// Errors: those of CUDA, such as an event that was not recorded. Both events take time and are
// done.
double elapsed_ns(const GpuEvent& begin, const GpuEvent& end);

// A CUDA stream that does not wait for the legacy default stream.
class GpuStream final : public backend::Stream {
public:
  GpuStream(std::shared_ptr<CudaGpu> gpu, std::shared_ptr<ProductSource> products, int priority);
  cudaStream_t handle() const { return stream_.get(); }
  const CudaGpu& gpu() const { return *gpu_; }

  void record(backend::Event& event) override; // of the same device
  void wait(backend::Event& event) override;   // of any device
  void spin(std::uint64_t duration_ns) override;
  void load(std::uint64_t duration_ns) override;
  void prepare_load() override;
  void prepare(const backend::CopyCall& call) override;
  void copy(const backend::CopyCall& call) override;
  void prepare(const backend::ChaseCall& call) override;
  void chase(const backend::ChaseCall& call) override;
  void prepare(const backend::GemmCall& call) override;
  void multiply(const backend::GemmCall& call) override;
  void convert(const backend::ConvertCall& call) override;
  void optimize(const backend::OptimizerCall& call) override;
  // An NVTX mark on the timeline of the enqueueing thread; free without a profiler.
  void mark(std::string_view label) override;
  bool idle() override;

  // During a capture, timing events become part of the graph.
  void set_captured(bool captured) { captured_ = captured; }

private:
  void require_reach(const backend::Place& place);

  std::shared_ptr<CudaGpu> gpu_;
  std::shared_ptr<ProductSource> product_source_;
  StreamHandle stream_;
  std::unique_ptr<MatrixProducts> products_; // since the first that was prepared
  std::unique_ptr<ProductLoad> load_;        // since it was prepared
  bool captured_ = false;
};

} // namespace ncclprobe::nvidia
