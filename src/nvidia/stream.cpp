// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/stream.h"

#include "nvidia/buffer.h"
#include "nvidia/compute_kernels.h"
#include "nvidia/cuda_error.h"
#include "nvidia/peer_kernels.h"

// Header only: without a profiler its calls do nothing. Some CUDA packages lack it; marks are then
// left out.
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

GpuEvent::GpuEvent(std::shared_ptr<CudaGpu> gpu, backend::EventUse use)
    : gpu_(std::move(gpu)), takes_time_(use == backend::EventUse::time) {
  gpu_->use();
  // Timing events cost the stream more.
  event_ = make_event(takes_time_ ? cudaEventDefault : cudaEventDisableTiming);
}

bool GpuEvent::reached() {
  return done(cudaEventQuery(handle()), "cudaEventQuery");
}

double elapsed_ns(const GpuEvent& begin, const GpuEvent& end) {
  float ms = 0;
  NCCLPROBE_CUDA_CALL(cudaEventElapsedTime(&ms, begin.handle(), end.handle()));
  return static_cast<double>(ms) * 1e6;
}

GpuStream::GpuStream(std::shared_ptr<CudaGpu> gpu, std::shared_ptr<ProductSource> products,
                     int priority)
    : gpu_(std::move(gpu)), product_source_(std::move(products)) {
  gpu_->use();
  stream_ = make_stream(priority);
}

void GpuStream::record(backend::Event& event) {
  gpu_->use();
  const auto& what = static_cast<GpuEvent&>(event);
  // In a capture, an order-only record leaves nothing in the graph; only an "external" record is
  // repeated by each launch.
  unsigned flags =
      captured_ && what.takes_time() ? cudaEventRecordExternal : cudaEventRecordDefault;
  NCCLPROBE_CUDA_CALL(cudaEventRecordWithFlags(what.handle(), handle(), flags));
}

void GpuStream::wait(backend::Event& event) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(cudaStreamWaitEvent(handle(), static_cast<GpuEvent&>(event).handle(), 0));
}

void GpuStream::spin(std::uint64_t duration_ns) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(enqueue_spin(duration_ns, handle()));
}

void GpuStream::prepare_load() {
  if (!load_)
    load_ = std::make_unique<ProductLoad>(*this, gpu_);
}

void GpuStream::load(std::uint64_t duration_ns) {
  prepare_load();
  load_->enqueue(duration_ns);
}

namespace {

GpuBuffer& gpu_buffer(const backend::Place& place) {
  return static_cast<GpuBuffer&>(place.buffer);
}

void check_range(const backend::Place& place, std::uint64_t bytes) {
  std::uint64_t size = place.buffer.size_bytes();
  if (place.offset > size || bytes > size - place.offset)
    raise(Errc::invalid_argument, "{} bytes at {} exceed their buffer of {}", bytes, place.offset,
          size);
}

} // namespace

// The stream's own GPU loads from it and stores to it.
void GpuStream::require_reach(const backend::Place& place) {
  GpuBuffer& buffer = gpu_buffer(place);
  if (buffer.on_host() && !buffer.reached_by_gpu())
    raise(Errc::unsupported, "GPU {} cannot access pageable host memory", gpu_->index());
  if (!buffer.on_host() && !gpu_->open_path_to(buffer.gpu()))
    raise(Errc::unsupported,
          "GPU {} cannot reach memory of GPU {} directly (cudaDeviceCanAccessPeer)", gpu_->index(),
          buffer.gpu().index());
}

void GpuStream::prepare(const backend::CopyCall& call) {
  GpuBuffer& source = gpu_buffer(call.from);
  GpuBuffer& target = gpu_buffer(call.to);
  bool between_gpus = !source.on_host() && !target.on_host() && &source.gpu() != &target.gpu();
  switch (call.means) {
  case model::CopyMeans::kernel:
    require_reach(call.from);
    require_reach(call.to);
    break;
  case model::CopyMeans::copy_engine:
    if (between_gpus) {
      source.gpu().open_path_to(target.gpu());
      target.gpu().open_path_to(source.gpu());
    }
    break;
  case model::CopyMeans::through_host:
    if (between_gpus) {
      source.gpu().close_path_to(target.gpu());
      target.gpu().close_path_to(source.gpu());
    }
    break;
  }
}

void GpuStream::copy(const backend::CopyCall& call) {
  check_range(call.from, call.bytes);
  check_range(call.to, call.bytes);
  if (call.bytes == 0)
    return;
  prepare(call);
  GpuBuffer& source = gpu_buffer(call.from);
  GpuBuffer& target = gpu_buffer(call.to);
  std::byte* from = source.data() + call.from.offset;
  std::byte* to = target.data() + call.to.offset;
  gpu_->use();
  if (call.means == model::CopyMeans::kernel)
    NCCLPROBE_CUDA_CALL(enqueue_copy(to, from, call.bytes, gpu_->multiprocessors(), handle()));
  else if (source.on_host() || target.on_host() || &source.gpu() == &target.gpu())
    NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(to, from, call.bytes, cudaMemcpyDefault, handle()));
  else
    NCCLPROBE_CUDA_CALL(cudaMemcpyPeerAsync(to, target.gpu().index(), from, source.gpu().index(),
                                            call.bytes, handle()));
}

void GpuStream::prepare(const backend::ChaseCall& call) {
  require_reach(call.through);
  require_reach(call.result);
}

void GpuStream::chase(const backend::ChaseCall& call) {
  check_range(call.through, call.bytes);
  check_range(call.result, sizeof(std::uint64_t));
  prepare(call);
  gpu_->use();
  NCCLPROBE_CUDA_CALL(enqueue_chase(gpu_buffer(call.through).data() + call.through.offset,
                                    call.hops, gpu_buffer(call.result).data() + call.result.offset,
                                    gpu_->multiprocessors(), handle()));
}

namespace {

// Elements that a kernel on this GPU processes.
std::byte* elements(const backend::Place& place, std::uint64_t count, model::DataType type) {
  std::uint64_t size = size_bytes(type);
  check_range(place, count * size);
  if (place.offset % size != 0)
    raise(Errc::invalid_argument, "offset {} is not a multiple of the size of {}", place.offset,
          to_string(type));
  return gpu_buffer(place).data() + place.offset;
}

ProductPlaces places_of(const backend::GemmCall& call) {
  return {elements(call.a, call.batch * call.m * call.k, call.type),
          elements(call.b, call.batch * call.k * call.n, call.type),
          elements(call.c, call.batch * call.m * call.n, call.type)};
}

} // namespace

void GpuStream::prepare(const backend::GemmCall& call) {
  gpu_->use();
  if (!products_)
    products_ = std::make_unique<MatrixProducts>(product_source_, handle());
  products_->prepare(call, places_of(call));
}

void GpuStream::multiply(const backend::GemmCall& call) {
  gpu_->use();
  if (!products_)
    prepare(call);
  products_->enqueue(call, places_of(call));
}

void GpuStream::convert(const backend::ConvertCall& call) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(
      enqueue_convert(elements(call.from, call.count, call.from_type), call.from_type,
                      elements(call.into, call.count, call.into_type), call.into_type, call.count,
                      gpu_->multiprocessors(), handle()));
}

void GpuStream::optimize(const backend::OptimizerCall& call) {
  gpu_->use();
  std::byte* moments = elements(call.state, 2 * call.count, model::DataType::f32);
  NCCLPROBE_CUDA_CALL(enqueue_adamw(elements(call.gradients, call.count, call.type),
                                    elements(call.weights, call.count, call.type),
                                    reinterpret_cast<float*>(moments), call.type, call.count,
                                    gpu_->multiprocessors(), handle()));
}

void GpuStream::mark([[maybe_unused]] std::string_view label) {
#ifdef NCCLPROBE_HAS_NVTX
  std::array<char, 128> text{}; // NVTX needs a terminated string; no allocation while enqueueing
  std::memcpy(text.data(), label.data(), std::min(label.size(), text.size() - 1));
  nvtxMarkA(text.data());
#endif
}

bool GpuStream::idle() {
  return done(cudaStreamQuery(handle()), "cudaStreamQuery");
}

} // namespace ncclprobe::nvidia
