// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/matrix_products.h"

#include "base/log.h"
#include "model/gemm_alignment.h"
#include "nvidia/cuda_error.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ncclprobe::nvidia {

using model::DataType;
using model::GemmLayout;
using model::GemmMath;

namespace {

// The workspace that PyTorch gives cuBLASLt on Hopper.
constexpr std::size_t k_workspace_bytes = std::size_t{32} << 20;

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
  case DataType::f32:
    return CUDA_R_32F;
  case DataType::f16:
    return CUDA_R_16F;
  case DataType::bf16:
    return CUDA_R_16BF;
  default:
    raise(Errc::unsupported, "matrix products support f32, f16 and bf16, not {}", to_string(type));
  }
}

std::uint32_t alignment(const std::byte* address) {
  constexpr int k_largest_power = 8; // 256 bytes
  return std::uint32_t{1} << std::min(std::countr_zero(reinterpret_cast<std::uintptr_t>(address)),
                                      k_largest_power);
}

// The three kinds of descriptors in cuBLASLt, each owned.
class Operation {
public:
  Operation(const CublasLtLibrary& library, cublasComputeType_t compute) : library_(library) {
    NCCLPROBE_CUBLASLT_CALL(library_, desc_create(&desc_, compute, CUDA_R_32F));
  }
  ~Operation() { (void)library_.desc_destroy(desc_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  void transpose(cublasLtMatmulDescAttributes_t factor, bool transposed) {
    cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    NCCLPROBE_CUBLASLT_CALL(library_, desc_set(desc_, factor, &value, sizeof value));
  }
  cublasLtMatmulDesc_t get() const { return desc_; }

private:
  const CublasLtLibrary& library_;
  cublasLtMatmulDesc_t desc_ = nullptr;
};

class Matrix {
public:
  Matrix(const CublasLtLibrary& library, cudaDataType_t type, std::uint64_t rows,
         std::uint64_t columns, std::uint64_t batch)
      : library_(library) {
    NCCLPROBE_CUBLASLT_CALL(
        library_, layout_create(&layout_, type, rows, columns, static_cast<std::int64_t>(rows)));
    if (batch == 1)
      return;
    auto count = static_cast<std::int32_t>(batch);
    auto distance = static_cast<std::int64_t>(rows * columns);
    NCCLPROBE_CUBLASLT_CALL(
        library_, layout_set(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    NCCLPROBE_CUBLASLT_CALL(library_,
                            layout_set(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &distance, sizeof distance));
  }
  ~Matrix() { (void)library_.layout_destroy(layout_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

private:
  const CublasLtLibrary& library_;
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Preference {
public:
  explicit Preference(const CublasLtLibrary& library) : library_(library) {
    NCCLPROBE_CUBLASLT_CALL(library_, preference_create(&preference_));
  }
  ~Preference() { (void)library_.preference_destroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t what, T value) {
    NCCLPROBE_CUBLASLT_CALL(library_, preference_set(preference_, what, &value, sizeof value));
  }
  cublasLtMatmulPreference_t get() const { return preference_; }

private:
  const CublasLtLibrary& library_;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

} // namespace

std::shared_ptr<const CublasLtLibrary> ProductSource::library() {
  if (!library_)
    library_ = std::make_shared<const CublasLtLibrary>(options_);
  return library_;
}

std::string alignment_remark(const backend::GemmCall& call) {
  const std::string odd =
      model::unaligned_edges(call.m, call.n, call.k, call.type, call.layout, call.math);
  if (odd.empty())
    return "";
  return fmt::format("{} is not a multiple of {}: columns of this {} product ({} x {} x {}, {}) "
                     "are not aligned to 16 bytes, where tensor cores load best",
                     odd, model::k_tensor_core_bytes / size_bytes(call.type), to_string(call.type),
                     call.m, call.n, call.k, to_string(call.layout));
}

struct MatrixProducts::Plan {
  Operation operation;
  Matrix a, b, c;
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes;
};

MatrixProducts::MatrixProducts(std::shared_ptr<ProductSource> source, cudaStream_t stream)
    : source_(std::move(source)), library_(source_->library()), stream_(stream),
      workspace_(static_cast<std::byte*>(allocate_device_memory(k_workspace_bytes))) {
  NCCLPROBE_CUBLASLT_CALL(*library_, create(&handle_));
}

MatrixProducts::~MatrixProducts() {
  plans_.clear();
  if (cublasStatus_t status = library_->destroy(handle_); status != CUBLAS_STATUS_SUCCESS)
    spdlog::warn("cublasLtDestroy: {}", library_->words(status));
}

MatrixProducts::Key MatrixProducts::key_of(const backend::GemmCall& call,
                                           const ProductPlaces& places) {
  return {call.m,
          call.n,
          call.k,
          call.batch,
          call.type,
          call.layout,
          call.math,
          alignment(places.a),
          alignment(places.b),
          alignment(places.c)};
}

std::unique_ptr<MatrixProducts::Plan> MatrixProducts::make_plan(const Key& key) const {
  const CublasLtLibrary& library = *library_;
  cudaDataType_t type = cuda_type(key.type);
  bool tf32 = key.type == DataType::f32 && key.math == GemmMath::tf32;
  bool a_transposed = key.layout == GemmLayout::tn;
  bool b_transposed = key.layout == GemmLayout::nt;
  auto matrix = [&](bool transposed, std::uint64_t rows, std::uint64_t columns) {
    return std::pair(transposed ? columns : rows, transposed ? rows : columns);
  };
  auto [a_rows, a_columns] = matrix(a_transposed, key.m, key.k);
  auto [b_rows, b_columns] = matrix(b_transposed, key.k, key.n);
  std::unique_ptr<Plan> plan(
      new Plan{{library, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F},
               {library, type, a_rows, a_columns, key.batch},
               {library, type, b_rows, b_columns, key.batch},
               {library, type, key.m, key.n, key.batch},
               {},
               0});
  plan->operation.transpose(CUBLASLT_MATMUL_DESC_TRANSA, a_transposed);
  plan->operation.transpose(CUBLASLT_MATMUL_DESC_TRANSB, b_transposed);
  Preference preference(library);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, k_workspace_bytes);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.a_alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.b_alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.c_alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.c_alignment);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  cublasStatus_t status =
      library.get_heuristic(handle_, plan->operation.get(), plan->a.get(), plan->b.get(),
                            plan->c.get(), plan->c.get(), preference.get(), 1, &best, &found);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0)
    raise(Errc::unsupported,
          "cuBLASLt {} has no kernel for {} x {} x {} of {} ({}, batch {}, addresses at {}, "
          "{} and {} bytes): {}",
          library.version(), key.m, key.n, key.k, to_string(key.type), to_string(key.layout),
          key.batch, key.a_alignment, key.b_alignment, key.c_alignment, library.words(status));
  plan->algorithm = best.algo;
  plan->workspace_bytes = best.workspaceSize;
  return plan;
}

void MatrixProducts::prepare(const backend::GemmCall& call, const ProductPlaces& places) {
  auto [found, is_new] = plans_.try_emplace(key_of(call, places));
  if (!is_new)
    return;
  try {
    found->second = make_plan(found->first);
    run(*found->second, places);
    NCCLPROBE_CUDA_CALL(cudaStreamSynchronize(stream_));
  } catch (...) {
    plans_.erase(found);
    throw;
  }
  if (std::string remark = alignment_remark(call); !remark.empty())
    source_->note(std::move(remark));
}

void MatrixProducts::enqueue(const backend::GemmCall& call, const ProductPlaces& places) {
  auto found = plans_.find(key_of(call, places));
  if (found == plans_.end())
    raise(Errc::invalid_argument, "a product is enqueued that was not prepared");
  run(*found->second, places);
}

void MatrixProducts::run(const Plan& plan, const ProductPlaces& places) {
  const float one = 1;
  const float zero = 0;
  NCCLPROBE_CUBLASLT_CALL(*library_, matmul(handle_, plan.operation.get(), &one, places.a,
                                            plan.a.get(), places.b, plan.b.get(), &zero, places.c,
                                            plan.c.get(), places.c, plan.c.get(), &plan.algorithm,
                                            workspace_.get(), plan.workspace_bytes, stream_));
}

} // namespace ncclprobe::nvidia
