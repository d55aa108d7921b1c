// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/stream.h"

#include "nvidia/buffer.h"
#include "nvidia/cuda_error.h"

// Header only: without a profiler attached its calls do nothing. Some packagings of CUDA lack it;
// marks are then left out.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define NCCLPROBE_HAS_NVTX 1
#endif

#include <algorithm>
#include <array>
#include <cstring>

namespace ncclprobe::nvidia {
namespace {

// The answer of a query.
bool done(cudaError_t code, const char* call) {
  if (code != cudaSuccess && code != cudaErrorNotReady)
    raise_cuda(code, call, __FILE__, __LINE__);
  return code == cudaSuccess;
}

} // namespace

GpuEvent::GpuEvent(std::shared_ptr<Gpu> gpu, backend::EventUse use) : gpu_(std::move(gpu)) {
  gpu_->use();
  // Events that take the time cost the stream more.
  event_ = make_event(use == backend::EventUse::time ? cudaEventDefault : cudaEventDisableTiming);
}

bool GpuEvent::reached() {
  return done(cudaEventQuery(handle()), "cudaEventQuery");
}

GpuStream::GpuStream(std::shared_ptr<Gpu> gpu, int priority) : gpu_(std::move(gpu)) {
  gpu_->use();
  stream_ = make_stream(priority);
}

void GpuStream::record(backend::Event& event) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaEventRecord(static_cast<GpuEvent&>(event).handle(), handle()));
}

void GpuStream::wait(backend::Event& event) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaStreamWaitEvent(handle(), static_cast<GpuEvent&>(event).handle(), 0));
}

void GpuStream::spin(std::uint64_t duration_ns) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(enqueue_spin(duration_ns, handle()));
}

void GpuStream::copy(backend::Buffer& from, std::uint64_t from_offset, backend::Buffer& to,
                     std::uint64_t to_offset, std::uint64_t bytes) {
  auto& source = static_cast<GpuBuffer&>(from);
  auto& target = static_cast<GpuBuffer&>(to);
  if (from_offset > source.size_bytes() || bytes > source.size_bytes() - from_offset ||
      to_offset > target.size_bytes() || bytes > target.size_bytes() - to_offset)
    base::raise(base::Errc::invalid_argument,
                "a copy of {} bytes from {} to {} leaves its buffers of {} and {} bytes", bytes,
                from_offset, to_offset, source.size_bytes(), target.size_bytes());
  if (bytes == 0)
    return;
  if (&source.gpu() != &target.gpu()) {
    source.gpu().open_path_to(target.gpu());
    target.gpu().open_path_to(source.gpu());
  }
  gpu_->use();
  if (&source.gpu() == &target.gpu())
    NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(target.data() + to_offset, source.data() + from_offset,
                                        bytes, cudaMemcpyDeviceToDevice, handle()));
  else
    NCCLPROBE_CUDA_CALL(cudaMemcpyPeerAsync(target.data() + to_offset, target.gpu().index(),
                                            source.data() + from_offset, source.gpu().index(),
                                            bytes, handle()));
}

void GpuStream::mark([[maybe_unused]] std::string_view label) {
#ifdef NCCLPROBE_HAS_NVTX
  std::array<char, 128> text{}; // NVTX wants a terminated string; no allocation while enqueueing
  std::memcpy(text.data(), label.data(), std::min(label.size(), text.size() - 1));
  nvtxMarkA(text.data());
#endif
}

bool GpuStream::idle() {
  return done(cudaStreamQuery(handle()), "cudaStreamQuery");
}

} // namespace ncclprobe::nvidia
