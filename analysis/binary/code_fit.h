// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/binary/device_code.h"
#include "analysis/report_value/report_value.h"
#include "base/enum_names.h"
#include "knowledge/compatibility.h"

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

// CSV has a row for each target of the code.
Report device_code_report(const std::string& path, const DeviceCode& code,
                          const std::vector<GpuVerdict>& verdicts);

} // namespace ncclprobe::analysis
