// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cublaslt_library.h"

#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {
namespace {

std::vector<std::string> cublaslt_sonames() {
  return {fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000), "libcublasLt.so"};
}

std::string version_of(const SharedLibrary& library) {
  decltype(&cublasLtGetVersion) get_version = library.require("cublasLtGetVersion");
  std::size_t number = get_version();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

} // namespace

CublasLtLibrary::CublasLtLibrary(const backend::Options& options)
    : library_("cuBLASLt", library_candidates(options, "cublaslt", cublaslt_sonames()),
               "it comes with the CUDA toolkit and with pip's nvidia-cublas; "
               "--library cublaslt=/path/libcublasLt.so names it"),
      version_(version_of(library_)) {}

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
