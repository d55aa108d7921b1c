// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/peer_kernels.h"

namespace ncclprobe::nvidia {
namespace {

constexpr int k_threads = 512;
constexpr int k_blocks_per_multiprocessor = 2;
// Loads in flight per thread before its first store: a link's bandwidth times its delay exceeds a
// megabyte.
constexpr int k_loads = 8;

__device__ std::uint64_t first_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t stride() {
  return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}

template <typename Word>
__global__ void __launch_bounds__(k_threads, k_blocks_per_multiprocessor)
    copy_words(Word* to, const Word* from, std::uint64_t count) {
  std::uint64_t step = stride();
  std::uint64_t i = first_index();
  for (; i + (k_loads - 1) * step < count; i += k_loads * step) {
    Word loaded[k_loads];
#pragma unroll
    for (int k = 0; k < k_loads; ++k)
      loaded[k] = from[i + k * step];
#pragma unroll
    for (int k = 0; k < k_loads; ++k)
      to[i + k * step] = loaded[k];
  }
  for (; i < count; i += step)
    to[i] = from[i];
}

template <typename Word>
cudaError_t enqueue_words(std::byte* to, const std::byte* from, std::uint64_t count,
                          int multiprocessors, cudaStream_t stream) {
  if (count == 0)
    return cudaSuccess;
  std::uint64_t wanted = (count + k_threads - 1) / k_threads;
  auto most = static_cast<std::uint64_t>(multiprocessors) * k_blocks_per_multiprocessor;
  auto blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  copy_words<<<blocks, k_threads, 0, stream>>>(reinterpret_cast<Word*>(to),
                                               reinterpret_cast<const Word*>(from), count);
  return cudaGetLastError();
}

// Only one block walks: the blocks are spread over the multiprocessors, one each.
__global__ void chase(const std::byte* chain, std::uint64_t hops, unsigned walker, bool begins,
                      std::uint64_t* position) {
  if (blockIdx.x != walker)
    return;
  std::uint64_t at = begins ? 0 : *position;
#pragma unroll 8
  for (std::uint64_t hop = 0; hop < hops; ++hop)
    at = *reinterpret_cast<const std::uint64_t*>(chain + at);
  *position = at;
}

} // namespace

cudaError_t load_peer_kernels() {
  cudaFuncAttributes ignored{};
  cudaError_t code = cudaFuncGetAttributes(&ignored, copy_words<uint4>);
  if (code == cudaSuccess)
    code = cudaFuncGetAttributes(&ignored, copy_words<std::byte>);
  if (code == cudaSuccess)
    code = cudaFuncGetAttributes(&ignored, chase);
  return code;
}

cudaError_t enqueue_copy(std::byte* to, const std::byte* from, std::uint64_t bytes,
                         int multiprocessors, cudaStream_t stream) {
  constexpr std::uint64_t word_bytes = sizeof(uint4);
  bool aligned = (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) %
                     word_bytes ==
                 0;
  std::uint64_t in_words = aligned ? bytes / word_bytes * word_bytes : 0;
  cudaError_t code = enqueue_words<uint4>(to, from, in_words / word_bytes, multiprocessors, stream);
  if (code != cudaSuccess)
    return code;
  return enqueue_words<std::byte>(to + in_words, from + in_words, bytes - in_words, multiprocessors,
                                  stream);
}

cudaError_t enqueue_chase(const std::byte* chain, std::uint64_t hops, std::byte* result,
                          int multiprocessors, cudaStream_t stream) {
  constexpr int most_walkers = 32;
  int walkers = multiprocessors < most_walkers ? multiprocessors : most_walkers;
  for (int i = 0; i < walkers; ++i) {
    std::uint64_t done = hops * static_cast<std::uint64_t>(i) / walkers;
    std::uint64_t after = hops * (static_cast<std::uint64_t>(i) + 1) / walkers;
    chase<<<static_cast<unsigned>(multiprocessors), 1, 0, stream>>>(
        chain, after - done, static_cast<unsigned>(i * multiprocessors / walkers), i == 0,
        reinterpret_cast<std::uint64_t*>(result));
    if (cudaError_t code = cudaGetLastError(); code != cudaSuccess)
      return code;
  }
  return cudaSuccess;
}

} // namespace ncclprobe::nvidia
