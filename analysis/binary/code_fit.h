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

// A GPU that is to run the code.
struct GpuToServe {
  std::string name; // "NVIDIA H200", "sm_120"
  knowledge::ComputeCapability capability;
  std::optional<knowledge::VersionNumber>
      driver_cuda; // newest CUDA its driver knows; absent: unknown
  knowledge::CpuKind cpu = knowledge::CpuKind::x86_64; // of its host
};

// What of the code a GPU runs.
struct GpuVerdict {
  GpuToServe gpu;
  knowledge::CodeFit fit;
  std::optional<knowledge::VersionNumber> ptx_isa;  // where PTX is compiled
  std::optional<knowledge::VersionNumber> jit_cuda; // CUDA that the driver must know for that
  enum class Runs { yes, no, unknown } runs = Runs::unknown;
  std::string meaning; // one sentence: what runs, or why nothing does, and what to do
};

std::vector<GpuVerdict> judge_device_code(const DeviceCode& code,
                                          const std::vector<GpuToServe>& gpus);

// For people, and as one JSON object.
std::string render_device_code(const std::string& path, const DeviceCode& code,
                               const std::vector<GpuVerdict>& verdicts);
nlohmann::json device_code_json(const std::string& path, const DeviceCode& code,
                                const std::vector<GpuVerdict>& verdicts);

} // namespace ncclprobe::analysis
