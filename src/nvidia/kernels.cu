// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/kernels.h"

namespace ncclprobe::nvidia {
namespace {

constexpr int k_threads = 256;
// Enough blocks to fill any GPU several times over; each thread then strides through the data.
constexpr std::uint64_t k_max_blocks = 4096;

unsigned blocks_for(std::uint64_t count) {
  std::uint64_t blocks = (count + k_threads - 1) / k_threads;
  return static_cast<unsigned>(blocks < k_max_blocks ? blocks : k_max_blocks);
}

__device__ std::uint64_t load(const std::byte* data, std::size_t element_bytes, std::uint64_t i) {
  switch (element_bytes) {
  case 1:
    return reinterpret_cast<const std::uint8_t*>(data)[i];
  case 2:
    return reinterpret_cast<const std::uint16_t*>(data)[i];
  case 4:
    return reinterpret_cast<const std::uint32_t*>(data)[i];
  default:
    return reinterpret_cast<const std::uint64_t*>(data)[i];
  }
}

__device__ void store(std::byte* data, std::size_t element_bytes, std::uint64_t i,
                      std::uint64_t bits) {
  switch (element_bytes) {
  case 1:
    reinterpret_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(bits);
    break;
  case 2:
    reinterpret_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(bits);
    break;
  case 4:
    reinterpret_cast<std::uint32_t*>(data)[i] = static_cast<std::uint32_t>(bits);
    break;
  default:
    reinterpret_cast<std::uint64_t*>(data)[i] = bits;
    break;
  }
}

__device__ std::uint64_t first_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t stride() {
  return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}

__global__ void fill(std::byte* data, model::DataType type, model::Pattern pattern, int rank,
                     std::uint64_t count) {
  std::size_t element_bytes = model::size_bytes(type);
  for (std::uint64_t i = first_index(); i < count; i += stride())
    store(data, element_bytes, i, model::encode(type, pattern.number(rank, i)));
}

// The findings of one thread.
struct Found {
  unsigned long long wrong = 0;
  unsigned long long first = ~0ULL;

  __device__ void add(std::uint64_t i) {
    if (wrong == 0)
      first = i;
    ++wrong;
  }
  __device__ void report(CompareResult* result) const {
    if (wrong == 0)
      return; // the usual case: no traffic to the result
    atomicAdd(&result->wrong, wrong);
    atomicMin(&result->first, first);
  }
};

__global__ void compare(const std::byte* data, model::DataType type, model::Pattern pattern,
                        model::Expectation expectation, CompareResult* result) {
  std::size_t element_bytes = model::size_bytes(type);
  std::uint64_t tolerance = expectation.tolerance(type);
  Found found;
  for (std::uint64_t i = first_index(); i < expectation.count; i += stride()) {
    std::uint64_t wanted = model::encode(type, expectation.number(pattern, type, i));
    if (!model::matches(load(data, element_bytes, i), wanted, tolerance))
      found.add(i);
  }
  found.report(result);
}

__global__ void compare_poison(const std::byte* data, std::uint64_t bytes, CompareResult* result) {
  Found found;
  for (std::uint64_t i = first_index(); i < bytes; i += stride())
    if (data[i] != std::byte{model::k_poison_byte})
      found.add(i);
  found.report(result);
}

__device__ std::uint64_t global_timer_ns() {
  std::uint64_t now_ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
  return now_ns;
}

__global__ void spin(std::uint64_t duration_ns) {
  std::uint64_t start_ns = global_timer_ns();
  while (global_timer_ns() - start_ns < duration_ns) {
  }
}

__global__ void note_time(std::uint64_t* into) {
  *into = global_timer_ns();
}

__global__ void spin_since(const std::uint64_t* noted_ns, std::uint64_t duration_ns) {
  while (global_timer_ns() - *noted_ns < duration_ns) {
  }
}

__global__ void answer_clock(volatile ClockBoard* board, std::uint32_t questions) {
  std::uint64_t begin_ns = global_timer_ns();
  std::uint64_t last_ns = begin_ns;
  std::uint64_t step_ns = ~std::uint64_t{0};
  for (int changes = 0; changes < 16;) {
    std::uint64_t now_ns = global_timer_ns();
    if (now_ns == last_ns)
      continue;
    step_ns = now_ns - last_ns < step_ns ? now_ns - last_ns : step_ns;
    last_ns = now_ns;
    ++changes;
  }
  board->step_ns = step_ns;
  for (std::uint32_t question = 1; question <= questions; ++question) {
    std::uint64_t now_ns = 0;
    do {
      now_ns = global_timer_ns();
      if (now_ns - begin_ns > k_clock_patience_ms * std::uint64_t{1000000})
        return;
    } while (board->asked < question);
    // Read again: the value above may be older than the question.
    board->gpu_ns = global_timer_ns();
    __threadfence_system();
    board->answered = question;
  }
}

__global__ void take_larger(double* largest, const double* other) {
  if (*other > *largest)
    *largest = *other;
}

} // namespace

cudaError_t load_kernels() {
  cudaFuncAttributes ignored{};
  cudaError_t code = cudaSuccess;
  const auto load = [&](auto kernel) {
    if (code == cudaSuccess)
      code = cudaFuncGetAttributes(&ignored, kernel); // querying attributes loads the kernel
  };
  load(fill);
  load(compare);
  load(compare_poison);
  load(note_time);
  load(take_larger);
  load(answer_clock);
  // Blocks with much shared memory run beside these only if the multiprocessor has it set aside.
  const auto let_others_in = [&](auto kernel) {
    load(kernel);
    if (code == cudaSuccess)
      code = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared);
  };
  let_others_in(spin);
  let_others_in(spin_since);
  return code;
}

cudaError_t enqueue_fill(std::byte* data, model::DataType type, const model::Pattern& pattern,
                         int rank, std::uint64_t count, cudaStream_t stream) {
  if (count == 0)
    return cudaSuccess;
  fill<<<blocks_for(count), k_threads, 0, stream>>>(data, type, pattern, rank, count);
  return cudaGetLastError();
}

cudaError_t enqueue_compare(const std::byte* data, model::DataType type,
                            const model::Pattern& pattern, const model::Expectation& expectation,
                            CompareResult* result, cudaStream_t stream) {
  if (expectation.count == 0)
    return cudaSuccess;
  compare<<<blocks_for(expectation.count), k_threads, 0, stream>>>(data, type, pattern, expectation,
                                                                   result);
  return cudaGetLastError();
}

cudaError_t enqueue_compare_poison(const std::byte* data, std::uint64_t bytes,
                                   CompareResult* result, cudaStream_t stream) {
  if (bytes == 0)
    return cudaSuccess;
  compare_poison<<<blocks_for(bytes), k_threads, 0, stream>>>(data, bytes, result);
  return cudaGetLastError();
}

cudaError_t enqueue_spin(std::uint64_t duration_ns, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(duration_ns);
  return cudaGetLastError();
}

cudaError_t enqueue_note_time(std::uint64_t* into, cudaStream_t stream) {
  note_time<<<1, 1, 0, stream>>>(into);
  return cudaGetLastError();
}

cudaError_t enqueue_spin_since(const std::uint64_t* noted_ns, std::uint64_t duration_ns,
                               cudaStream_t stream) {
  spin_since<<<1, 1, 0, stream>>>(noted_ns, duration_ns);
  return cudaGetLastError();
}

cudaError_t enqueue_answer_clock(ClockBoard* board, std::uint32_t questions, cudaStream_t stream) {
  answer_clock<<<1, 1, 0, stream>>>(board, questions);
  return cudaGetLastError();
}

cudaError_t enqueue_take_larger(double* largest, const double* other, cudaStream_t stream) {
  take_larger<<<1, 1, 0, stream>>>(largest, other);
  return cudaGetLastError();
}

} // namespace ncclprobe::nvidia
