// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/adamw.h"
#include "nvidia/compute_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace ncclprobe::nvidia {
namespace {

using model::DataType;

constexpr int k_threads = 256;
// These kernels only stream through memory. As many threads as the GPU holds are enough; each
// processes several pieces.
constexpr std::uint64_t k_blocks_per_multiprocessor = 8;
// Elements of one access: 16 bytes of the narrow types, twice that of f32.
constexpr int k_vector = 8;

template <typename T>
struct alignas(sizeof(T) * k_vector > 16 ? 16 : sizeof(T) * k_vector) Vector {
  T values[k_vector];
};

__device__ float to_float(float value) {
  return value;
}
__device__ float to_float(__half value) {
  return __half2float(value);
}
__device__ float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ void round_into(float value, float& into) {
  into = value;
}
__device__ void round_into(float value, __half& into) {
  into = __float2half_rn(value);
}
__device__ void round_into(float value, __nv_bfloat16& into) {
  into = __float2bfloat16_rn(value);
}

__device__ std::uint64_t first_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t stride() {
  return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}

template <typename From, typename Into>
__device__ void convert_one(From from, Into& into) {
  if constexpr (std::is_same_v<From, Into>)
    into = from;
  else
    round_into(to_float(from), into);
}

// `vectors`: how many whole vectors lie at aligned addresses from the start; the rest is processed
// element by element.
template <typename From, typename Into>
__global__ void convert(const From* from, Into* into, std::uint64_t vectors, std::uint64_t count) {
  const auto* from_vectors = reinterpret_cast<const Vector<From>*>(from);
  auto* into_vectors = reinterpret_cast<Vector<Into>*>(into);
  for (std::uint64_t i = first_index(); i < vectors; i += stride()) {
    Vector<From> in = from_vectors[i];
    Vector<Into> out;
#pragma unroll
    for (int j = 0; j < k_vector; ++j)
      convert_one(in.values[j], out.values[j]);
    into_vectors[i] = out;
  }
  for (std::uint64_t i = vectors * k_vector + first_index(); i < count; i += stride())
    convert_one(from[i], into[i]);
}

template <typename T>
__device__ void step_one(T gradient, T& weight, float& first, float& second) {
  using namespace backend::adamw;
  float g = to_float(gradient);
  float w = to_float(weight);
  first += (1 - k_first_decay) * (g - first);
  second = k_second_decay * second + (1 - k_second_decay) * g * g;
  round_into(w - k_learning_rate * (first / (sqrtf(second) + k_epsilon) + k_weight_decay * w),
             weight);
}

template <typename T>
__global__ void adamw_step(const T* gradients, T* weights, float* first, float* second,
                           std::uint64_t vectors, std::uint64_t count) {
  for (std::uint64_t i = first_index(); i < vectors; i += stride()) {
    Vector<T> g = reinterpret_cast<const Vector<T>*>(gradients)[i];
    Vector<T> w = reinterpret_cast<Vector<T>*>(weights)[i];
    Vector<float> m = reinterpret_cast<Vector<float>*>(first)[i];
    Vector<float> v = reinterpret_cast<Vector<float>*>(second)[i];
#pragma unroll
    for (int j = 0; j < k_vector; ++j)
      step_one(g.values[j], w.values[j], m.values[j], v.values[j]);
    reinterpret_cast<Vector<T>*>(weights)[i] = w;
    reinterpret_cast<Vector<float>*>(first)[i] = m;
    reinterpret_cast<Vector<float>*>(second)[i] = v;
  }
  for (std::uint64_t i = vectors * k_vector + first_index(); i < count; i += stride())
    step_one(gradients[i], weights[i], first[i], second[i]);
}

// Vectors of `count` elements, if all addresses allow them.
template <typename... T>
std::uint64_t vectors_of(std::uint64_t count, const T*... addresses) {
  bool aligned = ((reinterpret_cast<std::uintptr_t>(addresses) % alignof(Vector<T>) == 0) && ...);
  return aligned ? count / k_vector : 0;
}

unsigned blocks_for(std::uint64_t vectors, std::uint64_t count, int multiprocessors) {
  std::uint64_t items = vectors > 0 ? vectors : count;
  std::uint64_t blocks = (items + k_threads - 1) / k_threads;
  std::uint64_t most = k_blocks_per_multiprocessor * static_cast<std::uint64_t>(multiprocessors);
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

// Calls act(T{}) for the type of the elements.
template <typename Act>
cudaError_t with_element(DataType type, Act act) {
  switch (type) {
  case DataType::f32:
    return act(float{});
  case DataType::f16:
    return act(__half{});
  case DataType::bf16:
    return act(__nv_bfloat16{});
  default:
    return cudaErrorInvalidValue;
  }
}

constexpr DataType k_types[] = {DataType::f32, DataType::f16, DataType::bf16};

} // namespace

cudaError_t load_compute_kernels() {
  cudaFuncAttributes ignored{};
  for (DataType from : k_types) {
    cudaError_t code = with_element(from, [&](auto source) {
      using From = decltype(source);
      cudaError_t loaded = cudaFuncGetAttributes(&ignored, adamw_step<From>);
      for (DataType into : k_types)
        if (loaded == cudaSuccess)
          loaded = with_element(into, [&](auto target) {
            return cudaFuncGetAttributes(&ignored, convert<From, decltype(target)>);
          });
      return loaded;
    });
    if (code != cudaSuccess)
      return code;
  }
  return cudaSuccess;
}

cudaError_t enqueue_convert(const std::byte* from, DataType from_type, std::byte* into,
                            DataType into_type, std::uint64_t count, int multiprocessors,
                            cudaStream_t stream) {
  if (count == 0)
    return cudaSuccess;
  return with_element(from_type, [&](auto source) {
    return with_element(into_type, [&](auto target) {
      const auto* in = reinterpret_cast<const decltype(source)*>(from);
      auto* out = reinterpret_cast<decltype(target)*>(into);
      std::uint64_t vectors = vectors_of(count, in, out);
      convert<<<blocks_for(vectors, count, multiprocessors), k_threads, 0, stream>>>(
          in, out, vectors, count);
      return cudaGetLastError();
    });
  });
}

cudaError_t enqueue_adamw(const std::byte* gradients, std::byte* weights, float* moments,
                          DataType type, std::uint64_t count, int multiprocessors,
                          cudaStream_t stream) {
  if (count == 0)
    return cudaSuccess;
  return with_element(type, [&](auto element) {
    const auto* g = reinterpret_cast<const decltype(element)*>(gradients);
    auto* w = reinterpret_cast<decltype(element)*>(weights);
    float* second = moments + count;
    std::uint64_t vectors = vectors_of(count, g, w, moments, second);
    adamw_step<<<blocks_for(vectors, count, multiprocessors), k_threads, 0, stream>>>(
        g, w, moments, second, vectors, count);
    return cudaGetLastError();
  });
}

} // namespace ncclprobe::nvidia
