// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels that reach memory beyond their own GPU. Each call enqueues on a stream of the current
// device and returns what the launch reported. `multiprocessors`: how many the device has.
namespace ncclprobe::nvidia {

// As load_kernels() in kernels.h.
cudaError_t load_peer_kernels();

// Loads and stores of 16 bytes where both addresses allow it, else of one byte. All of the device's
// multiprocessors take part, with enough of them under way at once to fill a link.
cudaError_t enqueue_copy(std::byte* to, const std::byte* from, std::uint64_t bytes,
                         int multiprocessors, cudaStream_t stream);

// `hops` dependent loads along a chain of 8-byte offsets into itself, beginning at `chain`; where
// it ends is written to `result`. The way to a multiprocessor depends on where it lies on the chip,
// so up to 32 of them, spread over it, walk one after the other, each a part of the way: the time
// per hop is their mean, as in nvbandwidth, which takes all of them (device_to_device_latency_sm).
cudaError_t enqueue_chase(const std::byte* chain, std::uint64_t hops, std::byte* result,
                          int multiprocessors, cudaStream_t stream);

} // namespace ncclprobe::nvidia
