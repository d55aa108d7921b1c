// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cublaslt_library.h"

#include "nvidia/cuda_error.h"

namespace ncclprobe::nvidia {
namespace {

std::vector<std::string> sonames() {
  return {fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000), "libcublasLt.so"};
}

} // namespace

CublasLtLibrary::CublasLtLibrary(const backend::Options& options)
    : library_("cuBLASLt", library_candidates(options, "cublaslt", sonames())) {
  // As cublasLt.h declares it, which not every installation of CUDA has.
  std::size_t (*get_version)() = nullptr;
  library_.require(get_version, "cublasLtGetVersion", "");
  std::size_t number = get_version();
  version_ = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

} // namespace ncclprobe::nvidia
