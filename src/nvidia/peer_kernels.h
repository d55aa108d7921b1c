// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels that access memory beyond their own GPU. Each call enqueues on a stream of the current
// device and returns the launch's error code. `multiprocessors`: the device's count.
namespace ncclprobe::nvidia {

// Like load_kernels() in kernels.h.
cudaError_t load_peer_kernels();

// Uses loads and stores of 16 bytes if both addresses allow it, otherwise of one byte. All of the
// device's multiprocessors take part, with enough accesses in flight to fill a link.
cudaError_t enqueue_copy(std::byte* to, const std::byte* from, std::uint64_t bytes,
                         int multiprocessors, cudaStream_t stream);

// `hops` dependent loads along a chain of 8-byte offsets into itself, starting at `chain`; the
// final offset is written to `result`. The path to a multiprocessor depends on its place on the
// chip. Up to 32 of them, spread over the chip, therefore walk one after the other, each a part of
// the chain. The time per hop is their mean, as in nvbandwidth, which takes all of them
// (device_to_device_latency_sm).
cudaError_t enqueue_chase(const std::byte* chain, std::uint64_t hops, std::byte* result,
                          int multiprocessors, cudaStream_t stream);

} // namespace ncclprobe::nvidia
