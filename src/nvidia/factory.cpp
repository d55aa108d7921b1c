// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"

#include "nvidia/cuda_gpu.h"
#include "nvidia/gpu_attributes.h"
#include "nvidia/nccl_backend.h"
#include "nvidia/nvml_health.h"

namespace ncclprobe::nvidia {

std::unique_ptr<backend::Backend> make_backend(const backend::Options& options) {
  NvmlFuture nvml = start_nvml(options);
  count_gpus(); // reports missing GPUs before NCCL is searched
  auto nccl = std::make_shared<const NcclLibrary>(options);
  nvml.wait(); // no background work during another measurement
  return std::make_unique<NcclBackend>(std::move(nccl), std::move(nvml), options);
}

void examine_health(model::Survey& survey, const backend::Options& options) {
  try {
    survey.health = read_health(NvmlLibrary(options));
    if (survey.health.empty())
      survey.health_problem = "NVML knows no GPU";
    if (!survey.inventory.gpus.empty()) // CUDA runs in this process
      read_gpu_attributes(survey.health);
  } catch (const std::exception& error) {
    survey.health_problem = error.what();
  }
}

std::string build_description() {
  return "CUDA " NCCLPROBE_CUDA_VERSION ", architectures " NCCLPROBE_CUDA_ARCHITECTURES;
}

std::string header_versions() {
  return "NCCL " NCCLPROBE_NCCL_VERSION ", CUPTI " NCCLPROBE_CUPTI_VERSION
         ", cuBLAS " NCCLPROBE_CUBLAS_VERSION;
}

} // namespace ncclprobe::nvidia
