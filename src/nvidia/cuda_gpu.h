// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/handles.h"
#include "nvidia/kernels.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// Remembers which GPU is current for the thread that drives the backend. Asking CUDA each time
// would cost more.
class CurrentGpu {
public:
  void set(int index) {
    if (index != index_)
      switch_to(index);
  }
  // Call it after functions that may have changed the current GPU.
  void forget() { index_ = -1; }

private:
  void switch_to(int index);
  int index_ = -1;
};

// GPUs that this process sees, at least one. Errors: unavailable, with the reason why there are
// none.
int count_gpus();

// "0000:1B:00.0": NVML knows the GPU by this address, regardless of CUDA_VISIBLE_DEVICES.
std::string pci_bus_id(int index);

// One opened GPU, shared by its buffers, streams and communicators. They own it jointly, so it
// outlives them.
class CudaGpu {
public:
  // Creates the CUDA context, which takes a second. Errors: unavailable; unsupported (no code for
  // it).
  CudaGpu(int index, std::shared_ptr<CurrentGpu> current);
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  int index() const { return index_; }
  int compute_capability_major() const { return compute_capability_major_; }
  // Makes it current: needed before every call that works on "the current device".
  void use() const { current_->set(index_); }
  void forget_current() const { current_->forget(); }

  // The stream of the buffers' synchronous calls, and the end of such a call: throws the stream's
  // error.
  cudaStream_t side_stream() const { return side_stream_.get(); }
  void finish_side_stream() const;
  CompareResult* compare_result() const { return compare_result_.get(); } // device memory

  int multiprocessors() const { return multiprocessors_; }

  // Enables direct access to the other GPU's memory if the hardware supports it; otherwise copy
  // engines go through host memory. Returns whether access is direct. Tried once per pair.
  bool open_path_to(const CudaGpu& other);
  // Disables it. Errors: unsupported once NCCL works here, because NCCL needs the access.
  void close_path_to(const CudaGpu& other);
  void note_communicator() { has_communicators_ = true; }

private:
  int index_;
  int compute_capability_major_ = 0;
  int multiprocessors_ = 0;
  std::shared_ptr<CurrentGpu> current_;
  StreamHandle side_stream_;
  DeviceMemory<CompareResult> compare_result_;
  std::uint64_t paths_tried_ = 0; // one bit per other GPU
  std::uint64_t paths_open_ = 0;
  bool has_communicators_ = false;
};

} // namespace ncclprobe::nvidia
