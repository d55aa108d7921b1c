// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/device.h"

#include "nvidia/buffer.h"
#include "nvidia/cuda_error.h"
#include "nvidia/stream.h"

#include <cmath>

namespace ncclprobe::nvidia {

NvmlFuture start_nvml(const backend::Options& options) {
  return std::async(std::launch::async, [options]() -> std::shared_ptr<const NvmlLibrary> {
    try {
      return std::make_shared<const NvmlLibrary>(options);
    } catch (const Exception&) { // the inventory gives the reason
      return nullptr;
    }
  });
}

GpuDevice::GpuDevice(std::shared_ptr<CudaGpu> gpu, std::shared_ptr<const NcclLibrary> nccl,
                     NvmlFuture nvml, std::shared_ptr<ProductSource> products)
    : gpu_(std::move(gpu)), nccl_(std::move(nccl)), nvml_(std::move(nvml)),
      products_(std::move(products)), pci_bus_id_(pci_bus_id(gpu_->index())) {}

std::unique_ptr<backend::Buffer> GpuDevice::allocate_registrable(std::uint64_t bytes) {
  return std::make_unique<GpuBuffer>(gpu_, bytes, nccl_);
}

std::unique_ptr<backend::Buffer> GpuDevice::allocate_on_host(std::uint64_t bytes,
                                                             model::Memory memory) {
  return std::make_unique<GpuBuffer>(gpu_, bytes, memory);
}

// cudaMalloc takes small pieces from blocks of 2 MiB, and a handle stands for the whole block.
std::unique_ptr<backend::Buffer> GpuDevice::allocate_shared(std::uint64_t bytes) {
  constexpr std::uint64_t block_bytes = std::uint64_t{2} << 20;
  return std::make_unique<GpuBuffer>(gpu_, (bytes + block_bytes - 1) / block_bytes * block_bytes);
}

std::unique_ptr<backend::Buffer> GpuDevice::map_shared(const std::string& handle,
                                                       std::uint64_t bytes) {
  return std::make_unique<GpuBuffer>(gpu_, bytes, handle);
}

std::optional<model::Condition> GpuDevice::read_condition() {
  const auto& nvml = nvml_.get();
  return nvml ? nvml->condition(pci_bus_id_) : std::nullopt;
}

void GpuDevice::read_traffic(model::Condition& into) {
  if (const auto& nvml = nvml_.get())
    nvml->read_traffic(pci_bus_id_, into);
}

void GpuDevice::read_company(model::Condition& into) {
  if (const auto& nvml = nvml_.get())
    nvml->read_company(pci_bus_id_, into);
}

std::unique_ptr<backend::Buffer> GpuDevice::allocate(std::uint64_t bytes) {
  return std::make_unique<GpuBuffer>(gpu_, bytes);
}

std::unique_ptr<backend::Stream> GpuDevice::open_stream(int priority) {
  return std::make_unique<GpuStream>(gpu_, products_, priority);
}

std::unique_ptr<backend::Event> GpuDevice::create_event(backend::EventUse use) {
  return std::make_unique<GpuEvent>(gpu_, use);
}

std::int64_t GpuDevice::elapsed_ns(backend::Event& begin, backend::Event& end) {
  gpu_->use();
  return std::llround(
      nvidia::elapsed_ns(static_cast<GpuEvent&>(begin), static_cast<GpuEvent&>(end)));
}

} // namespace ncclprobe::nvidia
