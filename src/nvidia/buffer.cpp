// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/buffer.h"

#include "base/log.h"
#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {

GpuBuffer::GpuBuffer(std::shared_ptr<Gpu> gpu, std::uint64_t size_bytes)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes) {
  if (size_bytes == 0)
    return;
  gpu_->use();
  memory_ = {static_cast<std::byte*>(allocate_device_memory(size_bytes)), DeviceMemoryDeleter{}};
}

GpuBuffer::GpuBuffer(std::shared_ptr<Gpu> gpu, std::uint64_t size_bytes,
                     const std::shared_ptr<const NcclLibrary>& nccl)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes) {
  if (!nccl->registers_memory())
    base::raise(base::Errc::unsupported,
                "NCCL {} cannot register memory: ncclMemAlloc and ncclCommRegister came with 2.19",
                nccl->version);
  if (size_bytes == 0)
    return;
  gpu_->use();
  void* memory = nullptr;
  if (ncclResult_t code = nccl->mem_alloc(&memory, size_bytes); code != ncclSuccess) {
    (void)cudaGetLastError(); // else the next, innocent call reports it
    base::raise(base::Errc::unavailable, "NCCL {}: ncclMemAlloc of {} bytes: {}", nccl->version,
                size_bytes, nccl->get_error_string(code));
  }
  gpu_->forget_current();
  memory_ = {static_cast<std::byte*>(memory), [nccl, own = gpu_](std::byte* old) {
               try {
                 own->use();
                 if (nccl->mem_free(old) != ncclSuccess)
                   spdlog::warn("ncclMemFree failed");
               } catch (...) { // the process is about to end anyway
               }
             }};
}

void GpuBuffer::check_range(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size_bytes_ || bytes > size_bytes_ - offset)
    base::raise(base::Errc::invalid_argument,
                "bytes {} to {}+{} are outside of a buffer of {} bytes", offset, offset, bytes,
                size_bytes_);
}

void GpuBuffer::check_elements(std::uint64_t offset, model::DataType type,
                               std::uint64_t count) const {
  std::uint64_t element_bytes = model::size_bytes(type);
  if (count > size_bytes_)
    base::raise(base::Errc::invalid_argument, "{} elements do not fit into {} bytes", count,
                size_bytes_);
  check_range(offset, count * element_bytes);
  if (offset % element_bytes != 0)
    base::raise(base::Errc::invalid_argument, "offset {} is not a multiple of {}'s {} bytes",
                offset, model::to_string(type), element_bytes);
}

void GpuBuffer::poison_first(std::uint64_t bytes) {
  check_range(0, bytes);
  if (bytes == 0)
    return;
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaMemsetAsync(data(), model::k_poison_byte, bytes, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

void GpuBuffer::fill(std::uint64_t offset, model::DataType type, const model::Pattern& pattern,
                     int rank, std::uint64_t count) {
  check_elements(offset, type, count);
  gpu_->use();
  NCCLPROBE_CUDA_CALL(
      enqueue_fill(data() + offset, type, pattern, rank, count, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

backend::Mismatch GpuBuffer::compare(std::uint64_t offset, model::DataType type,
                                     const model::Pattern& pattern,
                                     const model::Expectation& expectation) {
  check_elements(offset, type, expectation.count);
  gpu_->use();
  CompareResult found{0, ~0ULL};
  cudaStream_t stream = gpu_->side_stream();
  CompareResult* on_gpu = gpu_->compare_result();
  NCCLPROBE_CUDA_CALL(
      cudaMemcpyAsync(on_gpu, &found, sizeof found, cudaMemcpyHostToDevice, stream));
  NCCLPROBE_CUDA_CALL(enqueue_compare(data() + offset, type, pattern, expectation, on_gpu, stream));
  NCCLPROBE_CUDA_CALL(
      cudaMemcpyAsync(&found, on_gpu, sizeof found, cudaMemcpyDeviceToHost, stream));
  gpu_->finish_side_stream();

  backend::Mismatch mismatch{expectation.count, found.wrong, 0, 0};
  if (found.wrong == 0)
    return mismatch;
  mismatch.first = found.first;
  std::size_t element_bytes = model::size_bytes(type);
  // GPU hosts are little-endian: the element's bytes are the low ones.
  read(offset + found.first * element_bytes,
       {reinterpret_cast<std::byte*>(&mismatch.first_bits), element_bytes});
  return mismatch;
}

void GpuBuffer::read(std::uint64_t offset, std::span<std::byte> into) {
  check_range(offset, into.size());
  if (into.empty())
    return;
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(into.data(), data() + offset, into.size(),
                                      cudaMemcpyDeviceToHost, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

void GpuBuffer::write(std::uint64_t offset, std::span<const std::byte> from) {
  check_range(offset, from.size());
  if (from.empty())
    return;
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(data() + offset, from.data(), from.size(),
                                      cudaMemcpyHostToDevice, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

} // namespace ncclprobe::nvidia
