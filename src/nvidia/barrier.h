// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/cuda_gpu.h"
#include "nvidia/nccl_library.h"

#include <nccl.h>

#include <span>

namespace ncclprobe::nvidia {

class NcclCommunicator;

// What one rank needs for a barrier with the others of its communicator: its own stream, two
// numbers on the GPU and one in pinned host memory.
class BarrierScratch {
public:
  explicit BarrierScratch(const CudaGpu& gpu);
  cudaStream_t stream() const { return stream_.get(); }
  double* largest() const { return numbers_.get(); }      // on the GPU
  double* received() const { return numbers_.get() + 1; } // on the GPU
  double* host() const { return host_.get(); }

private:
  StreamHandle stream_;
  DeviceMemory<double> numbers_;
  PinnedMemory<double> host_;
};

// The largest value over all ranks; returns once every rank has called. Ranks on one host use
// shared memory. Otherwise it uses sends and receives (dissemination: in round k each rank receives
// from the one 2^k before it) instead of an all-reduce. With a setting under test that forces an
// algorithm, such as NCCL_ALGO=PAT or NVLS, NCCL may have no algorithm for this all-reduce. The
// barrier must not fail if the collective under test works. The first sends and receives create
// connections that most collectives do not need. That took longer (0.7 s on 4 H200) than everything
// else between connecting and the first sample.
double all_reduce_max(const NcclLibrary& nccl, std::span<NcclCommunicator* const> local,
                      double value);

// The same rounds on a stream of each member (null: its own), enqueued without waiting. Later work
// on the streams begins once every rank has reached this point. They begin within the time of a
// small message; hosts that leave a barrier differ by tens of microseconds.
void align(const NcclLibrary& nccl, std::span<NcclCommunicator* const> local,
           std::span<const cudaStream_t> streams);

} // namespace ncclprobe::nvidia
