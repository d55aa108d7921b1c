// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

// One owner for each kind of CUDA handle. Errors during release are logged.
namespace ncclprobe::nvidia {

struct StreamDeleter {
  void operator()(cudaStream_t stream) const noexcept;
};
struct EventDeleter {
  void operator()(cudaEvent_t event) const noexcept;
};
struct GraphDeleter {
  void operator()(cudaGraph_t graph) const noexcept;
};
struct GraphExecDeleter {
  void operator()(cudaGraphExec_t graph) const noexcept;
};
struct DeviceMemoryDeleter {
  void operator()(void* memory) const noexcept;
};
struct PinnedMemoryDeleter {
  void operator()(void* memory) const noexcept;
};

using StreamHandle = std::unique_ptr<CUstream_st, StreamDeleter>;
using EventHandle = std::unique_ptr<CUevent_st, EventDeleter>;
using GraphHandle = std::unique_ptr<CUgraph_st, GraphDeleter>;
using GraphExecHandle = std::unique_ptr<CUgraphExec_st, GraphExecDeleter>;
template <typename T>
using DeviceMemory = std::unique_ptr<T, DeviceMemoryDeleter>;
template <typename T>
using PinnedMemory = std::unique_ptr<T, PinnedMemoryDeleter>;

// On the current device. The stream does not wait for the legacy default stream. A lower priority
// number is more urgent; CUDA limits it to the device's range.
StreamHandle make_stream(int priority);
EventHandle make_event(unsigned flags); // of cudaEventCreateWithFlags
void* allocate_device_memory(std::size_t bytes);
void* allocate_pinned_memory(std::size_t bytes);

} // namespace ncclprobe::nvidia
