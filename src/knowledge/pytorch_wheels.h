// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::knowledge {

// The CPU of a host, which decides which wheels it can install.
enum class CpuKind { x86_64, aarch64 };

// An official PyTorch wheel for Linux, and the GPUs for which its own kernels have code.
struct PytorchWheel {
  VersionNumber torch;
  std::string cuda_tag; // "cu121"
  VersionNumber cuda;
  std::vector<CodeTarget> cubins;
  std::vector<CodeTarget> ptx;
  std::string nccl;   // empty: not sourced
  std::string status; // "stable", "experimental"; empty: not recorded
  CpuKind cpu = CpuKind::x86_64;
  std::string note;
  std::vector<std::string> sources;

  std::string name() const { return torch.text() + "+" + cuda_tag; }
};
const std::vector<PytorchWheel>& pytorch_wheels(); // those of a CPU oldest first

// Nothing if the table has no such wheel ("2.7", "cu128"). A patch release (2.7.1) is built for the
// same GPUs as its minor version, which the table usually lists.
const PytorchWheel* pytorch_wheel(const VersionNumber& torch, std::string_view cuda_tag,
                                  CpuKind cpu = CpuKind::x86_64);

// The tag of a release's wheel on PyPI: "cu128", or "cpu" for one without CUDA. Nothing if it is
// not sourced.
std::optional<std::string> pypi_tag(const VersionNumber& torch, CpuKind cpu);
// The newest release whose Arm wheel on PyPI is built without CUDA.
VersionNumber last_arm_pypi_without_cuda();

} // namespace ncclprobe::knowledge
