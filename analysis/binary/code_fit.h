// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/binary/device_code.h"
#include "knowledge/compatibility.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// A GPU to run the code on.
struct GpuToServe {
  std::string name; // "NVIDIA H200", "sm_120"
  knowledge::ComputeCapability capability;
  std::optional<knowledge::VersionNumber>
      driver_cuda; // newest CUDA that its driver supports; absent: unknown
  knowledge::CpuKind cpu = knowledge::CpuKind::x86_64; // of its host
};

// The part of the code that a GPU runs.
struct GpuVerdict {
  GpuToServe gpu;
  knowledge::CodeFit fit;
  std::optional<knowledge::VersionNumber> ptx_isa; // if PTX is compiled
  std::optional<knowledge::VersionNumber>
      jit_cuda; // CUDA that the driver must support to compile it
  enum class Runs { yes, no, unknown } runs = Runs::unknown;
  std::string meaning; // one sentence: what runs, or why nothing does, and what to do
};

std::vector<GpuVerdict> judge_device_code(const DeviceCode& code,
                                          const std::vector<GpuToServe>& gpus);

// As text for people, and as one JSON object.
std::string render_device_code(const std::string& path, const DeviceCode& code,
                               const std::vector<GpuVerdict>& verdicts);
nlohmann::json device_code_json(const std::string& path, const DeviceCode& code,
                                const std::vector<GpuVerdict>& verdicts);

} // namespace ncclprobe::analysis
