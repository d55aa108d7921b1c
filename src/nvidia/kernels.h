// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_pattern.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Our own GPU code. Each call enqueues one kernel on a stream of the current device and returns the
// launch's error code.
namespace ncclprobe::nvidia {

// Loads all kernels onto the current device now. At their first launch, loading might wait for a
// running collective, and a GPU without code in this build would be noticed late.
cudaError_t load_kernels();

// The result of a comparison, in device memory; starts as {0, UINT64_MAX}.
struct CompareResult {
  unsigned long long wrong;
  unsigned long long first;
};

// `data` is aligned to the element size. Sets element i to pattern.number(rank, i).
cudaError_t enqueue_fill(std::byte* data, model::DataType type, const model::Pattern& pattern,
                         int rank, std::uint64_t count, cudaStream_t stream);

// Counts wrong elements in [0, expectation.count), and finds the first.
cudaError_t enqueue_compare(const std::byte* data, model::DataType type,
                            const model::Pattern& pattern, const model::Expectation& expectation,
                            CompareResult* result, cudaStream_t stream);

// Counts bytes other than model::k_poison_byte, and finds the first.
cudaError_t enqueue_compare_poison(const std::byte* data, std::uint64_t bytes,
                                   CompareResult* result, cudaStream_t stream);

// One thread that waits until the GPU's global timer has advanced by the duration. The timer
// advances in steps, on some GPUs of a microsecond.
cudaError_t enqueue_spin(std::uint64_t duration_ns, cudaStream_t stream);

// Writes the GPU's global timer to memory of the GPU.
cudaError_t enqueue_note_time(std::uint64_t* into, cudaStream_t stream);
// As enqueue_spin(), but the duration counts from the noted time.
cudaError_t enqueue_spin_since(const std::uint64_t* noted_ns, std::uint64_t duration_ns,
                               cudaStream_t stream);

// Clock questions of the host and answers of the GPU, in pinned host memory.
struct ClockBoard {
  alignas(64) std::uint32_t asked; // written by the host: number of the question
  alignas(64) std::uint32_t
      answered;          // written by the GPU: number of the last answer, after the fields below
  std::uint64_t gpu_ns;  // its global timer when it saw the question
  std::uint64_t step_ns; // the timer's smallest step
};
inline constexpr int k_clock_patience_ms = 200;

// One thread that answers questions 1 .. `questions`, or gives up after k_clock_patience_ms.
cudaError_t enqueue_answer_clock(ClockBoard* board, std::uint32_t questions, cudaStream_t stream);

// *largest = max(*largest, *other).
cudaError_t enqueue_take_larger(double* largest, const double* other, cudaStream_t stream);

} // namespace ncclprobe::nvidia
