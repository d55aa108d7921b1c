// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cublaslt_library.h"

#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {
namespace {

std::vector<std::string> cublaslt_sonames() {
  return {fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000), "libcublasLt.so"};
}

} // namespace

CublasLtLibrary::CublasLtLibrary(const backend::Options& options)
    : library_("cuBLASLt", library_candidates(options, "cublaslt", cublaslt_sonames()),
               "it comes with the CUDA toolkit and with pip's nvidia-cublas; "
               "--library cublaslt=/path/libcublasLt.so names it") {
  std::size_t (*get_version)() = nullptr;
  library_.require(get_version, "cublasLtGetVersion", "");
  std::size_t number = get_version();
  version_ = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  library_.require(create, "cublasLtCreate", version_);
  library_.require(destroy, "cublasLtDestroy", version_);
  library_.require(matmul, "cublasLtMatmul", version_);
  library_.require(get_heuristic, "cublasLtMatmulAlgoGetHeuristic", version_);
  library_.require(desc_create, "cublasLtMatmulDescCreate", version_);
  library_.require(desc_destroy, "cublasLtMatmulDescDestroy", version_);
  library_.require(desc_set, "cublasLtMatmulDescSetAttribute", version_);
  library_.require(layout_create, "cublasLtMatrixLayoutCreate", version_);
  library_.require(layout_destroy, "cublasLtMatrixLayoutDestroy", version_);
  library_.require(layout_set, "cublasLtMatrixLayoutSetAttribute", version_);
  library_.require(preference_create, "cublasLtMatmulPreferenceCreate", version_);
  library_.require(preference_destroy, "cublasLtMatmulPreferenceDestroy", version_);
  library_.require(preference_set, "cublasLtMatmulPreferenceSetAttribute", version_);
  status_name_ = library_.optional<decltype(status_name_)>("cublasLtGetStatusName");
}

std::string CublasLtLibrary::words(cublasStatus_t status) const {
  int number = static_cast<int>(status);
  return status_name_ == nullptr ? fmt::format("status {}", number)
                                 : fmt::format("{} ({})", status_name_(status), number);
}

void raise_cublaslt(const CublasLtLibrary& library, cublasStatus_t status, const char* call,
                    const char* file, int line) {
  Errc code = Errc::failed;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
    code = Errc::unsupported;
  else if (status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_NOT_INITIALIZED)
    code = Errc::unavailable;
  raise(code, "cuBLASLt {}: {} failed: {} [{}:{}]", library.version(), call, library.words(status),
        base_name(file), line);
}

} // namespace ncclprobe::nvidia
