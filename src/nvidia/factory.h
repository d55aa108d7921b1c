// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/survey.h"

#include <memory>
#include <string>
#include <vector>

// The NVIDIA backend for the rest of the program: no CUDA type, no vendor header. In builds without
// it, factory_not_built.cpp implements the same functions.
namespace ncclprobe::nvidia {

// Errors: unsupported (not built, NCCL missing or too old, a function missing), unavailable (no
// driver, no GPU).
std::unique_ptr<backend::Backend> make_backend(const backend::Options& options);

// CUDA's initialisation takes a quarter of a second per GPU, NVML's some hundredths.
enum class Cuda {
  ask,
  where_needed, // not if NVML reports the GPUs, their order, and the access between each pair
};

// Fills in this host's GPUs, the versions and paths of NVIDIA's libraries and, if the backend
// cannot be used here, the reason. Returns the topology according to NVML and to CUDA, in this
// order. Of the options, only `libraries` and `environment` matter. Without CUDA, only NVML's data
// is filled in, and whether the backend works is not checked. Never throws.
std::vector<topology::Host> describe(model::HostInventory& host,
                                     const backend::Options& options = {}, Cuda cuda = Cuda::ask);

// Fills in the health of this host's GPUs, or why it is unknown. Reads only. Never throws.
void examine_health(model::Survey& survey, const backend::Options& options = {});

// "CUDA 13.0.88, architectures 75,80,90+PTX", or "not built: configure with -DNCCLPROBE_NVIDIA=ON".
std::string build_description();

// The headers that the backend was compiled with: "NCCL 2.30.7, CUPTI 130000, cuBLAS 13.0.2". Empty
// without it.
std::string header_versions();

} // namespace ncclprobe::nvidia
