// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cuda_gpu.h"

#include "nvidia/compute_kernels.h"
#include "nvidia/cuda_error.h"
#include "nvidia/peer_kernels.h"

#include <array>

namespace ncclprobe::nvidia {
namespace {

// Only after cudaSetDevice: older runtimes create the context on first use, not in that call.
void create_context() {
  NCCLPROBE_CUDA_CALL(cudaFree(nullptr));
}

void check_exists(int index) {
  int count = 0;
  NCCLPROBE_CUDA_CALL(cudaGetDeviceCount(&count));
  if (index < 0 || index >= count)
    throw Exception(Error{Errc::unavailable,
                          fmt::format("GPU {} was requested, but this process sees {} GPU{}", index,
                                      count, count == 1 ? "" : "s"),
                          "check CUDA_VISIBLE_DEVICES, or use fewer ranks on this host"});
}

} // namespace

int count_gpus() {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0)
    code = cudaErrorNoDevice;
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    throw Exception(cuda_error(code));
  }
  return count;
}

std::string pci_bus_id(int index) {
  std::array<char, 32> text{};
  NCCLPROBE_CUDA_CALL(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index));
  return text.data();
}

void CurrentGpu::switch_to(int index) {
  index_ = -1; // in case of an error
  NCCLPROBE_CUDA_CALL(cudaSetDevice(index));
  index_ = index;
}

CudaGpu::CudaGpu(int index, std::shared_ptr<CurrentGpu> current)
    : index_(index), current_(std::move(current)) {
  check_exists(index);
  use();
  create_context();
  NCCLPROBE_CUDA_CALL(
      cudaDeviceGetAttribute(&compute_capability_major_, cudaDevAttrComputeCapabilityMajor, index));
  NCCLPROBE_CUDA_CALL(
      cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index));
  NCCLPROBE_CUDA_CALL(load_kernels());
  NCCLPROBE_CUDA_CALL(load_peer_kernels());
  NCCLPROBE_CUDA_CALL(load_compute_kernels());
  side_stream_ = make_stream(0);
  compare_result_.reset(static_cast<CompareResult*>(allocate_device_memory(sizeof(CompareResult))));
}

void CudaGpu::finish_side_stream() const {
  NCCLPROBE_CUDA_CALL(cudaStreamSynchronize(side_stream()));
}

bool CudaGpu::open_path_to(const CudaGpu& other) {
  if (other.index_ == index_)
    return true;
  if (other.index_ >= 64)
    return false;
  std::uint64_t bit = std::uint64_t{1} << other.index_;
  if ((paths_tried_ & bit) != 0)
    return (paths_open_ & bit) != 0;
  paths_tried_ |= bit;
  int possible = 0;
  NCCLPROBE_CUDA_CALL(cudaDeviceCanAccessPeer(&possible, index_, other.index_));
  if (possible == 0)
    return false;
  use();
  cudaError_t code = cudaDeviceEnablePeerAccess(other.index_, 0);
  // Too many peers is not an error: copies then go through the host.
  if (code == cudaErrorTooManyPeers) {
    (void)cudaGetLastError();
    return false;
  }
  if (code == cudaErrorPeerAccessAlreadyEnabled) // NCCL may have enabled it before
    (void)cudaGetLastError();
  else
    NCCLPROBE_CUDA_CALL(code);
  paths_open_ |= bit;
  return true;
}

void CudaGpu::close_path_to(const CudaGpu& other) {
  if (has_communicators_)
    raise(Errc::unsupported,
          "NCCL uses the direct path between GPUs in this process: it cannot be disabled");
  if (other.index_ == index_ || other.index_ >= 64)
    return;
  std::uint64_t bit = std::uint64_t{1} << other.index_;
  bool open = (paths_open_ & bit) != 0;
  paths_tried_ &= ~bit;
  paths_open_ &= ~bit;
  if (!open)
    return;
  use();
  NCCLPROBE_CUDA_CALL(cudaDeviceDisablePeerAccess(other.index_));
}

} // namespace ncclprobe::nvidia
