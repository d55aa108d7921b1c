// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/graph.h"

#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {
namespace {

// Ends a failed capture: a stream that stays in capture mode is unusable.
void drop_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(stream, &graph);
  (void)cudaGetLastError();
  GraphHandle owned(graph);
}

} // namespace

void GpuGraph::fork(const Part& part) {
  if (part.others.empty())
    return;
  part.origin->gpu().use();
  NCCLPROBE_CUDA_CALL(cudaEventRecord(part.fork.get(), part.origin->handle()));
  for (GpuStream* other : part.others)
    NCCLPROBE_CUDA_CALL(cudaStreamWaitEvent(other->handle(), part.fork.get(), 0));
}

void GpuGraph::join(const Part& part) {
  part.origin->gpu().use();
  for (std::size_t i = 0; i < part.others.size(); ++i) {
    NCCLPROBE_CUDA_CALL(cudaEventRecord(part.joins[i].get(), part.others[i]->handle()));
    NCCLPROBE_CUDA_CALL(cudaStreamWaitEvent(part.origin->handle(), part.joins[i].get(), 0));
  }
}

void GpuGraph::note_captured(std::span<const std::vector<backend::Stream*>> streams,
                             bool captured) {
  for (const auto& of_device : streams)
    for (backend::Stream* stream : of_device)
      static_cast<GpuStream*>(stream)->set_captured(captured);
}

GpuGraph::GpuGraph(std::span<const std::vector<backend::Stream*>> streams,
                   const std::function<void()>& enqueue) {
  for (const auto& of_device : streams) {
    Part& part = parts_.emplace_back();
    part.origin = static_cast<GpuStream*>(of_device.front());
    part.origin->gpu().use();
    part.fork = make_event(cudaEventDisableTiming);
    for (std::size_t i = 1; i < of_device.size(); ++i) {
      part.others.push_back(static_cast<GpuStream*>(of_device[i]));
      part.joins.push_back(make_event(cudaEventDisableTiming));
    }
  }
  // Also after an error.
  struct Noted {
    explicit Noted(std::span<const std::vector<backend::Stream*>> all) : streams(all) {
      note_captured(streams, true);
    }
    ~Noted() { note_captured(streams, false); }
    std::span<const std::vector<backend::Stream*>> streams;
  } noted(streams);
  std::size_t begun = 0;
  std::size_t ended = 0;
  try {
    for (const Part& part : parts_) {
      part.origin->gpu().use();
      // Only this thread: NCCL's own threads continue to make calls that a capture forbids.
      NCCLPROBE_CUDA_CALL(
          cudaStreamBeginCapture(part.origin->handle(), cudaStreamCaptureModeThreadLocal));
      ++begun;
      fork(part);
    }
    enqueue();
    for (Part& part : parts_) {
      join(part);
      cudaGraph_t captured = nullptr;
      ++ended;
      NCCLPROBE_CUDA_CALL(cudaStreamEndCapture(part.origin->handle(), &captured));
      GraphHandle graph(captured);
      cudaGraphExec_t runnable = nullptr;
      NCCLPROBE_CUDA_CALL(cudaGraphInstantiateWithFlags(&runnable, graph.get(), 0));
      part.graph.reset(runnable);
    }
  } catch (...) {
    for (; ended < begun; ++ended)
      drop_capture(parts_[ended].origin->handle());
    throw;
  }
}

void GpuGraph::launch() {
  for (const Part& part : parts_) {
    join(part); // what the other streams must do first
    part.origin->gpu().use();
    NCCLPROBE_CUDA_CALL(cudaGraphLaunch(part.graph.get(), part.origin->handle()));
    fork(part);
  }
}

} // namespace ncclprobe::nvidia
