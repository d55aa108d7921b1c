// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/handles.h"
#include "nvidia/kernels.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ncclprobe::nvidia {

// Which GPU is current for the one thread that drives the backend. Asking CUDA each time would cost
// more than remembering.
class CurrentGpu {
public:
  void set(int index) {
    if (index != index_)
      switch_to(index);
  }
  // After calls that may have changed it behind our back.
  void forget() { index_ = -1; }

private:
  void switch_to(int index);
  int index_ = -1;
};

// GPUs that this process sees, at least one. Errors: unavailable, with the reason why there are
// none.
int count_gpus();

// "0000:1B:00.0", by which NVML knows it whatever CUDA_VISIBLE_DEVICES says.
std::string pci_bus_id(int index);

// One opened GPU: what its buffers, streams and communicators share. They hold it, so it outlives
// them.
class CudaGpu {
public:
  // Creates the CUDA context, which takes a second. Errors: unavailable; unsupported (no code for
  // it).
  CudaGpu(int index, std::shared_ptr<CurrentGpu> current);
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  int index() const { return index_; }
  int compute_capability_major() const { return compute_capability_major_; }
  // Makes it current: before every call that works on "the current device".
  void use() const { current_->set(index_); }
  void forget_current() const { current_->forget(); }

  // The stream of the buffers' synchronous calls, and how they end: throws what went wrong in it.
  cudaStream_t side_stream() const { return side_stream_.get(); }
  void finish_side_stream() const;
  CompareResult* compare_result() const { return compare_result_.get(); } // device memory

  int multiprocessors() const { return multiprocessors_; }

  // Lets this GPU reach the other's memory directly, where the hardware has a way; without one,
  // copy engines go through host memory. True if it does. Tried once per pair.
  bool open_path_to(const CudaGpu& other);
  // The opposite. Errors: unsupported once NCCL works here, which needs the path itself.
  void close_path_to(const CudaGpu& other);
  void note_communicator() { has_communicators_ = true; }

private:
  int index_;
  int compute_capability_major_ = 0;
  int multiprocessors_ = 0;
  std::shared_ptr<CurrentGpu> current_;
  StreamHandle side_stream_;
  DeviceMemory<CompareResult> compare_result_;
  std::uint64_t paths_tried_ = 0; // a bit for each other GPU
  std::uint64_t paths_open_ = 0;
  bool has_communicators_ = false;
};

} // namespace ncclprobe::nvidia
