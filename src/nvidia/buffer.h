// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/nccl_library.h"

#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// GPU memory from cudaMalloc, from NCCL or from another process, or host memory. The GPU writes and
// checks patterns with the oracle's own code (model/data_pattern.h); the CPU does so in pageable
// memory, which the GPU cannot reach. Offsets of elements must be multiples of the element's size:
// an unaligned GPU load would destroy the whole context, so this is checked here.
class GpuBuffer final : public backend::Buffer {
public:
  GpuBuffer(std::shared_ptr<CudaGpu> gpu,
            std::uint64_t size_bytes); // Errc::unavailable if too little memory
  // Allocated by ncclMemAlloc. Errc::unsupported: this NCCL lacks it; Errc::unavailable: it failed.
  GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes,
            const std::shared_ptr<const NcclLibrary>& nccl);

  // Host memory: pinned, which the GPU can access directly, or pageable.
  GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes, model::Memory host_memory);
  // Memory of another process, by the handle from its share().
  GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes, const std::string& handle);

  std::byte* data() const { return memory_.get(); }
  bool on_host() const { return home_ != Home::gpu; }
  bool reached_by_gpu() const { return home_ != Home::pageable; }
  CudaGpu& gpu() const { return *gpu_; }

  std::uint64_t size_bytes() const override { return size_bytes_; }
  void poison_bytes(std::uint64_t offset, std::uint64_t bytes) override;
  backend::Mismatch compare_poison(std::uint64_t offset, std::uint64_t bytes) override;
  void fill(std::uint64_t offset, model::DataType type, const model::Pattern& pattern, int rank,
            std::uint64_t count) override;
  backend::Mismatch compare(std::uint64_t offset, model::DataType type,
                            const model::Pattern& pattern,
                            const model::Expectation& expectation) override;
  void read(std::uint64_t offset, std::span<std::byte> into) override;
  void write(std::uint64_t offset, std::span<const std::byte> from) override;
  std::string share() override; // as hexadecimal digits

private:
  enum class Home { gpu, pinned, pageable };
  // Runs a kernel that counts, and reads its result; elements have that many bytes, starting at
  // offset.
  template <typename Enqueue>
  backend::Mismatch count_on_gpu(std::uint64_t offset, std::size_t element_bytes,
                                 std::uint64_t elements, Enqueue enqueue);
  void check_range(std::uint64_t offset, std::uint64_t bytes) const;
  void check_elements(std::uint64_t offset, model::DataType type, std::uint64_t count) const;

  std::shared_ptr<CudaGpu> gpu_;
  std::uint64_t size_bytes_;
  Home home_ = Home::gpu;
  std::shared_ptr<std::byte> memory_;
};

} // namespace ncclprobe::nvidia
