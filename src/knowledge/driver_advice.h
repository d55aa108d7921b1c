// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compatibility.h"

#include <span>
#include <string>
#include <vector>

// What to do about a driver that does not run a CUDA runtime, or not all of it, on the GPUs of a
// host. One advice names each bound once, so that no two of its sentences can differ.
namespace ncclprobe::knowledge {

// The software that serves all GPUs of a host.
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
  NewestRuntimes newest; // that the driver runs and that serve the GPUs
  // "the newest it runs: CUDA 11.4, with fewer features 11.8; the newest for these GPUs: 13.4, ..."
  std::string newest_text;
  // Each is enough by itself. Empty: there is nothing to do, or nothing helps.
  std::vector<std::string> ways;
  // Why a way that one would look for is not among them; may be empty.
  std::string not_a_way;
};
DriverAdvice advise(const VersionNumber& driver, const VersionNumber& cuda_runtime,
                    const GpuLimits& gpus, LoadedDriver loaded = LoadedDriver::system);

// "update the driver ...; or take ...": the ways, and what is none.
std::string ways_text(const DriverAdvice& advice);

} // namespace ncclprobe::knowledge
