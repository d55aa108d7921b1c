// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_pattern.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Everything that runs as our own code on the GPU. Each call enqueues one kernel on a stream of the
// current device and returns what the launch reported.
namespace ncclprobe::nvidia {

// Loads all kernels onto the current device now. Left to their first launch, loading could have to
// wait for a collective that is running, and a GPU that this build has no code for would show up
// late.
cudaError_t load_kernels();

// What compare finds, in device memory; starts as {0, UINT64_MAX}.
struct CompareResult {
  unsigned long long wrong;
  unsigned long long first;
};

// `data` is aligned to the element size. Element i becomes pattern.number(rank, i).
cudaError_t enqueue_fill(std::byte* data, model::DataType type, const model::Pattern& pattern,
                         int rank, std::uint64_t count, cudaStream_t stream);

// Counts elements [0, expectation.count) that are not as expected, and finds the first of them.
cudaError_t enqueue_compare(const std::byte* data, model::DataType type,
                            const model::Pattern& pattern, const model::Expectation& expectation,
                            CompareResult* result, cudaStream_t stream);

// Counts bytes that are not model::k_poison_byte, and finds the first of them.
cudaError_t enqueue_compare_poison(const std::byte* data, std::uint64_t bytes,
                                   CompareResult* result, cudaStream_t stream);

// One thread that waits until the GPU's global timer has advanced by the duration. The timer moves
// in steps, on some GPUs of a microsecond.
cudaError_t enqueue_spin(std::uint64_t duration_ns, cudaStream_t stream);

// How host and GPU talk about the time, in pinned memory of the host.
struct ClockBoard {
  alignas(64) std::uint32_t asked;    // by the host: number of the question
  alignas(64) std::uint32_t answered; // by the GPU: the last one, behind what follows
  std::uint64_t gpu_ns;               // its global timer when it saw the question
  std::uint64_t step_ns;              // the least that the timer advances by
};
inline constexpr int k_clock_patience_ms = 200;

// One thread that answers questions 1 .. `questions`, or gives up after k_clock_patience_ms.
cudaError_t enqueue_answer_clock(ClockBoard* board, std::uint32_t questions, cudaStream_t stream);

// *largest = max(*largest, *other).
cudaError_t enqueue_take_larger(double* largest, const double* other, cudaStream_t stream);

} // namespace ncclprobe::nvidia
