// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compatibility.h"

#include <span>
#include <string>
#include <vector>

// What to do about a driver that does not run a CUDA runtime, or not with all features, on the GPUs
// of a host. One advice names each bound once, so its sentences cannot contradict each other.
namespace ncclprobe::knowledge {

// The software that supports all GPUs of a host.
struct GpuLimits {
  std::optional<VersionNumber> first_cuda; // absent: not sourced
  std::optional<VersionNumber> last_cuda;  // absent: none of them was dropped so far
  std::optional<VersionNumber> first_branch;
  std::optional<VersionNumber> last_branch;
  bool compat_packages = false; // NVIDIA makes cuda-compat for data-center GPUs
};
GpuLimits gpu_limits(std::span<const ComputeCapability> gpus);

struct DriverAdvice {
  DriverFit fit;
  NewestRuntimes newest; // runtimes that the driver runs and that support the GPUs
  // "the driver runs CUDA up to 11.4, ...; the newest CUDA for these GPUs is 13.4, ..."
  std::string newest_text;
  // Each is sufficient alone. Empty: there is nothing to do, or nothing helps.
  std::vector<std::string> remedies;
  // Why an expected option is missing; may be empty.
  std::string no_remedy;
};
DriverAdvice advise(const VersionNumber& driver, const VersionNumber& cuda_runtime,
                    const GpuLimits& gpus, LoadedDriver loaded = LoadedDriver::system);

// "update the driver ...; or use ...": the options, and missing ones.
std::string remedies_text(const DriverAdvice& advice);

} // namespace ncclprobe::knowledge
