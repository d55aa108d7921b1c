// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/matrix_products.h"
#include "nvidia/nccl_library.h"
#include "nvidia/nvml_library.h"

#include <future>
#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// NVML starts slowly, so it starts while the CUDA contexts are created; null if it is unavailable.
using NvmlFuture = std::shared_future<std::shared_ptr<const NvmlLibrary>>;
NvmlFuture start_nvml(const backend::Options& options);

class GpuDevice final : public backend::Device {
public:
  GpuDevice(std::shared_ptr<CudaGpu> gpu, std::shared_ptr<const NcclLibrary> nccl, NvmlFuture nvml,
            std::shared_ptr<ProductSource> products);
  const std::shared_ptr<CudaGpu>& gpu() const { return gpu_; }

  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override;
  std::unique_ptr<backend::Stream> open_stream(int priority) override;
  std::unique_ptr<backend::Event> create_event(backend::EventUse use) override;
  std::unique_ptr<backend::Buffer> allocate_registrable(std::uint64_t bytes) override;
  std::unique_ptr<backend::Buffer> allocate_on_host(std::uint64_t bytes,
                                                    model::Memory memory) override;
  std::unique_ptr<backend::Buffer> allocate_shared(std::uint64_t bytes) override;
  std::unique_ptr<backend::Buffer> map_shared(const std::string& handle,
                                              std::uint64_t bytes) override;
  std::optional<model::Condition> read_condition() override;
  void read_traffic(model::Condition& into) override;
  void read_company(model::Condition& into) override;
  std::int64_t elapsed_ns(backend::Event& begin, backend::Event& end) override;

private:
  std::shared_ptr<CudaGpu> gpu_;
  std::shared_ptr<const NcclLibrary> nccl_;
  NvmlFuture nvml_;
  std::shared_ptr<ProductSource> products_;
  std::string pci_bus_id_;
};

} // namespace ncclprobe::nvidia
