// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cublaslt_library.h"
#include "nvidia/cuda_error.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/cuda_topology.h"
#include "nvidia/cupti_library.h"
#include "nvidia/factory.h"
#include "nvidia/nccl_library.h"
#include "nvidia/nvml_library.h"
#include "nvidia/nvml_topology.h"

#include <algorithm>
#include <dlfcn.h>
#include <optional>

namespace ncclprobe::nvidia {
namespace {

std::string compute_mode_text(int mode) {
  switch (mode) {
  case cudaComputeModeDefault:
    return "default";
  case cudaComputeModeExclusive:
  case cudaComputeModeExclusiveProcess:
    return "exclusive_process";
  case cudaComputeModeProhibited:
    return "prohibited";
  default:
    return "";
  }
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int attribute(cudaDeviceAttr what, int index) {
  int value = 0;
  NCCLPROBE_CUDA_CALL(cudaDeviceGetAttribute(&value, what, index));
  return value;
}

// None of these calls creates a CUDA context, so the inventory is quick and uses no GPU memory.
model::CudaDevice describe_gpu(int index, const NvmlLibrary* nvml) {
  cudaDeviceProp properties{};
  NCCLPROBE_CUDA_CALL(cudaGetDeviceProperties(&properties, index));

  model::CudaDevice gpu;
  gpu.index = index;
  gpu.name = properties.name;
  gpu.uuid = uuid_text(properties.uuid);
  gpu.pci_bus_id = pci_bus_id(index);
  gpu.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
  gpu.memory_bytes = properties.totalGlobalMem;
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.compute_mode = compute_mode_text(attribute(cudaDevAttrComputeMode, index));
#if CUDART_VERSION >= 12040
  int mps = 0; // older drivers do not report it
  if (cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, index) == cudaSuccess)
    gpu.mps = mps != 0;
  else
    (void)cudaGetLastError();
#endif
  if (nvml != nullptr) {
    gpu.free_bytes = nvml->free_bytes(gpu.pci_bus_id).value_or(0);
    gpu.nvlinks = nvml->active_nvlinks(gpu.pci_bus_id);
  }
  return gpu;
}

// Runs `look`; an error becomes the library's problem.
template <typename Look>
model::Library describe_library(const char* name, Look look) {
  model::Library library;
  library.name = name;
  try {
    look(library);
  } catch (const std::exception& error) {
    library.problem = error.what();
  }
  return library;
}

template <typename Api>
void take(const Api& api, model::Library& library) {
  library.version = api.version();
  library.path = api.path();
}

void describe_driver(const NvmlLibrary* nvml, model::Library& library) {
  int version = 0;
  NCCLPROBE_CUDA_CALL(cudaDriverGetVersion(&version));
  if (version == 0)
    throw Exception(cuda_error(cudaErrorInsufficientDriver));
  std::string kernel_driver = nvml != nullptr ? nvml->driver_version() : "";
  std::string cuda = "CUDA " + cuda_version_text(version);
  library.version = kernel_driver.empty() ? cuda : fmt::format("{} ({})", kernel_driver, cuda);
  library.path =
      SharedLibrary("the CUDA driver", {"libcuda.so.1"}, "it comes with the NVIDIA driver").path();
}

void describe_runtime(model::Library& library) {
  int version = 0;
  NCCLPROBE_CUDA_CALL(cudaRuntimeGetVersion(&version));
  library.version = cuda_version_text(version);
  Dl_info info{}; // linked statically: this names our own program
  if (dladdr(reinterpret_cast<const void*>(&cudaRuntimeGetVersion), &info) != 0 &&
      info.dli_fname != nullptr)
    library.path = info.dli_fname;
}

// The oldest architecture in "75,80,90+PTX"; our code runs on no GPU below it.
std::string too_old_for_build(const model::HostInventory& host) {
  int oldest = std::stoi(NCCLPROBE_CUDA_ARCHITECTURES);
  for (const model::CudaDevice& gpu : host.gpus) {
    std::size_t dot = gpu.compute_capability.find('.');
    int capability =
        std::stoi(gpu.compute_capability) * 10 + std::stoi(gpu.compute_capability.substr(dot + 1));
    if (capability < oldest)
      return fmt::format(
          "GPU {} ({}, compute capability {}) is older than this build's GPU code ({})", gpu.index,
          gpu.name, gpu.compute_capability, NCCLPROBE_CUDA_ARCHITECTURES);
  }
  return "";
}

void describe_gpus(model::HostInventory& host, const NvmlLibrary* nvml) {
  int count = count_gpus();
  for (int index = 0; index < count; ++index)
    host.gpus.push_back(describe_gpu(index, nvml));
}

// Whether CUDA would number these GPUs as NVML does and could add nothing about their links. CUDA
// puts the fastest GPU first, and shows only visible ones.
bool nvml_suffices(const topology::Host& told, const backend::Options& options) {
  if (told.gpus.empty() || options.environment.contains("CUDA_VISIBLE_DEVICES"))
    return false;
  const topology::Gpu& first = told.gpus.front();
  bool alike = std::ranges::all_of(told.gpus, [&](const topology::Gpu& gpu) {
    return gpu.name && gpu.name.value == first.name.value && gpu.bus_id && gpu.uuid &&
           !gpu.mig_now.value_or(false);
  });
  std::size_t pairs = told.gpus.size() * (told.gpus.size() - 1);
  return alike && told.p2p.size() == pairs &&
         std::ranges::all_of(told.p2p, [](const topology::P2pCapability& pair) {
           return pair.read && pair.write && pair.atomics;
         });
}

void take_gpus(const topology::Host& told, model::HostInventory& host) {
  for (const topology::Gpu& from : told.gpus) {
    model::CudaDevice gpu;
    gpu.index = from.index;
    gpu.name = *from.name;
    gpu.uuid = *from.uuid;
    gpu.pci_bus_id = *from.bus_id;
    gpu.compute_capability = from.compute_capability.value_or("");
    gpu.memory_bytes = from.memory_bytes.value_or(0);
    host.gpus.push_back(std::move(gpu));
  }
}

void describe_all(model::HostInventory& host, const backend::Options& options, Cuda cuda,
                  std::vector<topology::Host>& sources) {
  std::optional<NvmlLibrary> nvml;
  model::Library nvml_entry = describe_library("nvml", [&](model::Library& library) {
    nvml.emplace(options);
    take(*nvml, library);
  });
  const NvmlLibrary* known = nvml ? &*nvml : nullptr;
  if (known != nullptr)
    sources.push_back(nvml_topology(*known, host.contradictions));
  if (cuda == Cuda::where_needed && known != nullptr && nvml_suffices(sources.back(), options))
    return take_gpus(sources.back(), host);
  host.libraries.push_back(describe_library(
      "cuda_driver", [&](model::Library& library) { describe_driver(known, library); }));
  host.libraries.push_back(describe_library("cuda_runtime", describe_runtime));
  model::Library nccl_entry = describe_library("nccl", [&](model::Library& library) {
    NcclLibrary nccl(options);
    library.version = nccl.version;
    library.path = nccl.library.path();
  });
  host.libraries.push_back(nccl_entry);
  host.libraries.push_back(nvml_entry);
  host.libraries.push_back(describe_library(
      "cupti", [&](model::Library& library) { take(CuptiLibrary(options), library); }));
  host.libraries.push_back(describe_library(
      "cublaslt", [&](model::Library& library) { take(CublasLtLibrary(options), library); }));

  describe_gpus(host, known);
  sources.push_back(cuda_topology());
  host.nvidia_problem = !nccl_entry.problem.empty() ? nccl_entry.problem : too_old_for_build(host);
}

} // namespace

std::vector<topology::Host> describe(model::HostInventory& host, const backend::Options& options,
                                     Cuda cuda) {
  std::vector<topology::Host> sources;
  try {
    describe_all(host, options, cuda, sources);
  } catch (const std::exception& error) {
    host.nvidia_problem = error.what();
  }
  return sources;
}

} // namespace ncclprobe::nvidia
