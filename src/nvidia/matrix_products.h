// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/cublaslt_library.h"
#include "nvidia/cuda_gpu.h"

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace ncclprobe::nvidia {

// State that all products of a backend share: the library, which the first product opens, and
// remarks about them.
class ProductSource {
public:
  explicit ProductSource(backend::Options options) : options_(std::move(options)) {}
  std::shared_ptr<const CublasLtLibrary> library();                // throws Errc::unsupported
  const CublasLtLibrary* opened() const { return library_.get(); } // null: no product yet
  void note(std::string remark) { remarks_.insert(std::move(remark)); }
  const std::set<std::string>& remarks() const { return remarks_; }

private:
  backend::Options options_;
  std::shared_ptr<const CublasLtLibrary> library_;
  std::set<std::string> remarks_;
};

// Dimensions along which matrices are read and that are not a multiple of 16 bytes, if tensor cores
// multiply them: "m=50257 of bf16 is no multiple of 8: ..."; empty if there are none.
std::string alignment_remark(const backend::GemmCall& call);

// The addresses of a call's three matrices on the GPU.
struct ProductPlaces {
  const std::byte* a;
  const std::byte* b;
  std::byte* c;
};

// Products on one stream, which has a workspace for them.
class MatrixProducts {
public:
  // For the stream's GPU, which must be current in all calls.
  MatrixProducts(std::shared_ptr<ProductSource> source, cudaStream_t stream);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  // Chooses an algorithm for such products with cuBLASLt's heuristics, and runs it once to load the
  // kernel onto the GPU. Earlier choices are kept.
  void prepare(const backend::GemmCall& call, const ProductPlaces& places);
  // The call must be prepared.
  void enqueue(const backend::GemmCall& call, const ProductPlaces& places);

private:
  struct Key {
    std::uint64_t m, n, k, batch;
    model::DataType type;
    model::GemmLayout layout;
    model::GemmMath math;
    std::uint32_t a_alignment, b_alignment, c_alignment; // bytes, at most 256
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const backend::GemmCall& call, const ProductPlaces& places);
  struct Plan;
  std::unique_ptr<Plan> make_plan(const Key& key) const;
  void run(const Plan& plan, const ProductPlaces& places);

  std::shared_ptr<ProductSource> source_;
  std::shared_ptr<const CublasLtLibrary> library_;
  cudaStream_t stream_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory<std::byte> workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

} // namespace ncclprobe::nvidia
