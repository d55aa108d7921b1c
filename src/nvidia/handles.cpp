// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/handles.h"

#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {

void StreamDeleter::operator()(cudaStream_t stream) const noexcept {
  log_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
}
void EventDeleter::operator()(cudaEvent_t event) const noexcept {
  log_cuda(cudaEventDestroy(event), "cudaEventDestroy");
}
void GraphDeleter::operator()(cudaGraph_t graph) const noexcept {
  log_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}
void GraphExecDeleter::operator()(cudaGraphExec_t graph) const noexcept {
  log_cuda(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
}
void DeviceMemoryDeleter::operator()(void* memory) const noexcept {
  log_cuda(cudaFree(memory), "cudaFree");
}
void PinnedMemoryDeleter::operator()(void* memory) const noexcept {
  log_cuda(cudaFreeHost(memory), "cudaFreeHost");
}

StreamHandle make_stream(int priority) {
  cudaStream_t stream = nullptr;
  NCCLPROBE_CUDA_CALL(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return StreamHandle(stream);
}

EventHandle make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  NCCLPROBE_CUDA_CALL(cudaEventCreateWithFlags(&event, flags));
  return EventHandle(event);
}

void* allocate_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  cudaError_t code = cudaMalloc(&memory, bytes);
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    constexpr std::size_t k_mib = 1 << 20; // the unit of nvidia-smi
    raise(Errc::unavailable, "too little GPU memory: {} MiB requested, {} of {} MiB free",
          (bytes + k_mib - 1) / k_mib, free_bytes / k_mib, total_bytes / k_mib);
  }
  NCCLPROBE_CUDA_CALL(code);
  return memory;
}

void* allocate_pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  NCCLPROBE_CUDA_CALL(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
  return memory;
}

} // namespace ncclprobe::nvidia
