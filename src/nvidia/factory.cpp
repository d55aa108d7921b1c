// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"

#include "nvidia/cuda_error.h"
#include "nvidia/nccl_backend.h"

namespace ncclprobe::nvidia {

std::unique_ptr<backend::Backend> make_backend(const backend::Options& options) {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0)
    code = cudaErrorNoDevice;
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    throw base::Exception(cuda_error(code));
  }
  return std::make_unique<NcclBackend>(std::make_shared<const NcclLibrary>(options));
}

std::string build_description() {
  return "CUDA " NCCLPROBE_CUDA_VERSION ", architectures " NCCLPROBE_CUDA_ARCHITECTURES;
}

} // namespace ncclprobe::nvidia
