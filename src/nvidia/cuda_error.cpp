// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cuda_error.h"

#include "base/log.h"

namespace ncclprobe::nvidia {
namespace {

// Error 35 means "driver too old" and also "no driver": the driver's version distinguishes them.
Error driver_error() {
  int driver = 0;
  int runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  if (driver == 0)
    return {Errc::unavailable, "no CUDA driver (libcuda.so.1) on this host",
            "install the NVIDIA driver, or give the container its GPUs (--gpus all)"};
  return {
      Errc::unavailable,
      fmt::format(
          "the CUDA driver on this host is too old: it supports CUDA {}, this build uses CUDA {}",
          cuda_version_text(driver), cuda_version_text(runtime)),
      fmt::format("update the driver, or build with a CUDA toolkit {}.x", driver / 1000)};
}

} // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

Error cuda_error(cudaError_t code) {
  std::string words = fmt::format("{} ({}, {})", cudaGetErrorString(code), cudaGetErrorName(code),
                                  static_cast<int>(code));
  switch (code) {
  case cudaErrorInsufficientDriver:
    return driver_error();
  case cudaErrorNoDevice:
    return {Errc::unavailable, "no GPU is visible to CUDA on this host",
            "check nvidia-smi and CUDA_VISIBLE_DEVICES"};
  case cudaErrorInvalidDevice:
    return {Errc::unavailable, "there is no such GPU: " + words,
            "check nvidia-smi and CUDA_VISIBLE_DEVICES"};
  case cudaErrorDevicesUnavailable:
    return {Errc::unavailable, "the GPU is busy or its use is forbidden: " + words,
            "another process may use it in exclusive mode; check nvidia-smi"};
  case cudaErrorSystemNotReady:
    return {Errc::unavailable, "the GPUs are not ready: " + words,
            "on machines with NVSwitch, the service nvidia-fabricmanager must run"};
  case cudaErrorMemoryAllocation:
    return {Errc::unavailable, "the GPU has too little free memory: " + words,
            "nvidia-smi lists the processes that use its memory; else measure smaller --sizes"};
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorUnsupportedPtxVersion:
    return {Errc::unsupported, "this build has no code for this GPU: " + words,
            "it has code for compute capabilities " NCCLPROBE_CUDA_ARCHITECTURES
            "; rebuild with this GPU's in NCCLPROBE_CUDA_ARCHS"};
  case cudaErrorStreamCaptureUnsupported:
  case cudaErrorStreamCaptureInvalidated:
  case cudaErrorStreamCaptureMerge:
  case cudaErrorStreamCaptureUnmatched:
  case cudaErrorStreamCaptureUnjoined:
  case cudaErrorStreamCaptureIsolation:
  case cudaErrorStreamCaptureImplicit:
    return {Errc::unsupported, "this cannot be captured as a graph: " + words, ""};
  default:
    return {Errc::failed, words, ""};
  }
}

void raise_cuda(cudaError_t code, const char* call, const char* file, int line) {
  (void)cudaGetLastError(); // else the next, innocent call reports it again
  Error error = cuda_error(code);
  error.message = fmt::format("{} failed: {} [{}:{}]", call, error.message, base_name(file), line);
  throw Exception(std::move(error));
}

void log_cuda(cudaError_t code, const char* call) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading)
    return;
  (void)cudaGetLastError();
  try {
    spdlog::warn("{}: {}", call, cudaGetErrorString(code));
  } catch (...) { // a log line is not worth the process
  }
}

} // namespace ncclprobe::nvidia
