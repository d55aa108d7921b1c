// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/survey.h"

#include <memory>
#include <string>
#include <vector>

// The NVIDIA backend as the rest of the program sees it: no CUDA type, no vendor header. Where it
// is not built, factory_not_built.cpp implements the same functions.
namespace ncclprobe::nvidia {

// Errors: unsupported (not built, NCCL missing or too old, a function missing), unavailable (no
// driver, no GPU).
std::unique_ptr<backend::Backend> make_backend(const backend::Options& options);

// CUDA takes a quarter of a second for each GPU to begin with, NVML hundredths.
enum class Cuda {
  ask,
  where_needed, // not if NVML tells what GPUs there are, in which order, and what each pair can do
};

// Fills in this host's GPUs, the versions and paths of NVIDIA's libraries, and, if the backend
// cannot be used here, why. Returns what NVML and CUDA say of the topology, in this order. Of the
// options, `libraries` and `environment` matter. Without CUDA, only what NVML tells is filled in,
// and nobody looks whether the backend can be used. Never throws.
std::vector<topology::Host> describe(model::Host& host, const backend::Options& options = {},
                                     Cuda cuda = Cuda::ask);

// Fills in the health of this host's GPUs, or why it cannot be had. Reads only. Never throws.
void examine_health(model::Survey& survey, const backend::Options& options = {});

// "CUDA 13.0.88, architectures 75,80,90+PTX", or "not built: configure with -DNCCLPROBE_NVIDIA=ON".
std::string build_description();

} // namespace ncclprobe::nvidia
