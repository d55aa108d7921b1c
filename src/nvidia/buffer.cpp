// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/buffer.h"

#include "base/log.h"
#include "nvidia/cuda_error.h"
#include "nvidia/near_cpus.h"

#include <cstdlib>
#include <cstring>
#include <span>

namespace ncclprobe::nvidia {
namespace {

constexpr std::size_t k_page_bytes = 4096;

std::string hex_of(const cudaIpcMemHandle_t& handle) {
  std::string text;
  for (std::byte one : std::as_bytes(std::span(&handle, 1)))
    text += fmt::format("{:02x}", std::to_integer<int>(one));
  return text;
}

cudaIpcMemHandle_t handle_of(const std::string& hex) {
  cudaIpcMemHandle_t handle{};
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(&handle, 1));
  if (hex.size() != 2 * bytes.size())
    raise(Errc::protocol, "'{}' is not a handle of shared GPU memory", hex);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return handle;
}

std::uint64_t bits_at(const std::byte* data, std::size_t element_bytes, std::uint64_t index) {
  std::uint64_t bits = 0; // GPU hosts are little-endian
  std::memcpy(&bits, data + index * element_bytes, element_bytes);
  return bits;
}

void fill_on_cpu(std::byte* data, model::DataType type, const model::Pattern& pattern, int rank,
                 std::uint64_t count) {
  std::size_t element_bytes = model::size_bytes(type);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits = model::encode(type, pattern.number(rank, i));
    std::memcpy(data + i * element_bytes, &bits, element_bytes);
  }
}

// Calls is_right(bits, index) for each element.
template <typename IsRight>
backend::Mismatch count_on_cpu(const std::byte* data, std::size_t element_bytes,
                               std::uint64_t elements, IsRight is_right) {
  backend::Mismatch mismatch{elements, 0, 0, 0};
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t bits = bits_at(data, element_bytes, i);
    if (is_right(bits, i))
      continue;
    if (mismatch.wrong++ == 0) {
      mismatch.first = i;
      mismatch.first_bits = bits;
    }
  }
  return mismatch;
}

std::shared_ptr<std::byte> pageable_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, k_page_bytes, bytes) != 0)
    raise(Errc::unavailable, "the host has not enough memory for a buffer of {} bytes", bytes);
  std::memset(memory, model::k_poison_byte, bytes); // pre-faults the pages
  return {static_cast<std::byte*>(memory), std::free};
}

} // namespace

GpuBuffer::GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes,
                     model::Memory host_memory)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes),
      home_(host_memory == model::Memory::pinned_host ? Home::pinned : Home::pageable) {
  if (size_bytes == 0)
    return;
  gpu_->use();
  NearCpus near(pci_bus_id(gpu_->index()));
  if (home_ == Home::pinned)
    memory_ = {static_cast<std::byte*>(allocate_pinned_memory(size_bytes)), PinnedMemoryDeleter{}};
  else
    memory_ = pageable_memory(size_bytes);
}

GpuBuffer::GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes,
                     const std::string& handle)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes) {
  gpu_->use();
  void* memory = nullptr;
  cudaError_t code =
      cudaIpcOpenMemHandle(&memory, handle_of(handle), cudaIpcMemLazyEnablePeerAccess);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    raise(Errc::unsupported,
          "GPU {} cannot map memory of another process (cudaIpcOpenMemHandle): {}", gpu_->index(),
          cudaGetErrorString(code));
  }
  memory_ = {static_cast<std::byte*>(memory), [](std::byte* mapped) {
               log_cuda(cudaIpcCloseMemHandle(mapped), "cudaIpcCloseMemHandle");
             }};
}

std::string GpuBuffer::share() {
  if (home_ != Home::gpu || size_bytes_ == 0)
    raise(Errc::unsupported, "only memory of a GPU can be shared with other processes");
  gpu_->use();
  cudaIpcMemHandle_t handle{};
  if (cudaError_t code = cudaIpcGetMemHandle(&handle, data()); code != cudaSuccess) {
    (void)cudaGetLastError();
    raise(Errc::unsupported, "CUDA IPC does not work here (cudaIpcGetMemHandle): {}",
          cudaGetErrorString(code));
  }
  return hex_of(handle);
}

GpuBuffer::GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes) {
  if (size_bytes == 0)
    return;
  gpu_->use();
  memory_ = {static_cast<std::byte*>(allocate_device_memory(size_bytes)), DeviceMemoryDeleter{}};
}

GpuBuffer::GpuBuffer(std::shared_ptr<CudaGpu> gpu, std::uint64_t size_bytes,
                     const std::shared_ptr<const NcclLibrary>& nccl)
    : gpu_(std::move(gpu)), size_bytes_(size_bytes) {
  if (!nccl->registers_memory())
    raise(Errc::unsupported,
          "NCCL {} cannot register memory: ncclMemAlloc and ncclCommRegister need 2.19",
          nccl->version);
  if (size_bytes == 0)
    return;
  gpu_->use();
  void* memory = nullptr;
  if (ncclResult_t code = nccl->mem_alloc(&memory, size_bytes); code != ncclSuccess) {
    (void)cudaGetLastError(); // else the next, innocent call reports it
    raise(Errc::unavailable, "NCCL {}: ncclMemAlloc of {} bytes: {}", nccl->version, size_bytes,
          nccl->get_error_string(code));
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
    raise(Errc::invalid_argument, "bytes {} to {}+{} are outside a buffer of {} bytes", offset,
          offset, bytes, size_bytes_);
}

void GpuBuffer::check_elements(std::uint64_t offset, model::DataType type,
                               std::uint64_t count) const {
  std::uint64_t element_bytes = model::size_bytes(type);
  if (count > size_bytes_)
    raise(Errc::invalid_argument, "{} elements do not fit into {} bytes", count, size_bytes_);
  check_range(offset, count * element_bytes);
  if (offset % element_bytes != 0)
    raise(Errc::invalid_argument, "offset {} is not a multiple of {}'s {} bytes", offset,
          model::to_string(type), element_bytes);
}

void GpuBuffer::poison_bytes(std::uint64_t offset, std::uint64_t bytes) {
  check_range(offset, bytes);
  if (bytes == 0)
    return;
  if (home_ == Home::pageable) {
    std::memset(data() + offset, model::k_poison_byte, bytes);
    return;
  }
  gpu_->use();
  NCCLPROBE_CUDA_CALL(
      cudaMemsetAsync(data() + offset, model::k_poison_byte, bytes, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

void GpuBuffer::fill(std::uint64_t offset, model::DataType type, const model::Pattern& pattern,
                     int rank, std::uint64_t count) {
  check_elements(offset, type, count);
  if (home_ == Home::pageable)
    return fill_on_cpu(data() + offset, type, pattern, rank, count);
  gpu_->use();
  NCCLPROBE_CUDA_CALL(
      enqueue_fill(data() + offset, type, pattern, rank, count, gpu_->side_stream()));
  gpu_->finish_side_stream();
}

template <typename Enqueue>
backend::Mismatch GpuBuffer::count_on_gpu(std::uint64_t offset, std::size_t element_bytes,
                                          std::uint64_t elements, Enqueue enqueue) {
  gpu_->use();
  CompareResult found{0, ~0ULL};
  cudaStream_t stream = gpu_->side_stream();
  CompareResult* on_gpu = gpu_->compare_result();
  NCCLPROBE_CUDA_CALL(
      cudaMemcpyAsync(on_gpu, &found, sizeof found, cudaMemcpyHostToDevice, stream));
  NCCLPROBE_CUDA_CALL(enqueue(on_gpu, stream));
  NCCLPROBE_CUDA_CALL(
      cudaMemcpyAsync(&found, on_gpu, sizeof found, cudaMemcpyDeviceToHost, stream));
  gpu_->finish_side_stream();

  backend::Mismatch mismatch{elements, found.wrong, 0, 0};
  if (found.wrong == 0)
    return mismatch;
  mismatch.first = found.first;
  // GPU hosts are little-endian: the element's bytes are the low ones.
  read(offset + found.first * element_bytes,
       {reinterpret_cast<std::byte*>(&mismatch.first_bits), element_bytes});
  return mismatch;
}

backend::Mismatch GpuBuffer::compare(std::uint64_t offset, model::DataType type,
                                     const model::Pattern& pattern,
                                     const model::Expectation& expectation) {
  check_elements(offset, type, expectation.count);
  std::size_t element_bytes = model::size_bytes(type);
  if (home_ == Home::pageable)
    return count_on_cpu(data() + offset, element_bytes, expectation.count,
                        [&](std::uint64_t bits, std::uint64_t i) {
                          std::uint64_t wanted =
                              model::encode(type, expectation.number(pattern, type, i));
                          return model::matches(bits, wanted, expectation.tolerance(type));
                        });
  return count_on_gpu(
      offset, element_bytes, expectation.count, [&](CompareResult* result, cudaStream_t stream) {
        return enqueue_compare(data() + offset, type, pattern, expectation, result, stream);
      });
}

backend::Mismatch GpuBuffer::compare_poison(std::uint64_t offset, std::uint64_t bytes) {
  check_range(offset, bytes);
  if (home_ == Home::pageable)
    return count_on_cpu(data() + offset, 1, bytes, [](std::uint64_t bits, std::uint64_t) {
      return bits == model::k_poison_byte;
    });
  return count_on_gpu(offset, 1, bytes, [&](CompareResult* result, cudaStream_t stream) {
    return enqueue_compare_poison(data() + offset, bytes, result, stream);
  });
}

void GpuBuffer::read(std::uint64_t offset, std::span<std::byte> into) {
  check_range(offset, into.size());
  if (into.empty())
    return;
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(into.data(), data() + offset, into.size(), cudaMemcpyDefault,
                                      gpu_->side_stream()));
  gpu_->finish_side_stream();
}

void GpuBuffer::write(std::uint64_t offset, std::span<const std::byte> from) {
  check_range(offset, from.size());
  if (from.empty())
    return;
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(data() + offset, from.data(), from.size(), cudaMemcpyDefault,
                                      gpu_->side_stream()));
  gpu_->finish_side_stream();
}

} // namespace ncclprobe::nvidia
