// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/pytorch_wheels.h"
#include "knowledge/version_number.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

// Whether driver, CUDA runtime, compiled code and GPU are compatible. Pure: versions and lists in,
// verdicts out. Sources: cuda_minor, cuda_forward, cuda_platform and ptx_isa in data/sources.json.
namespace ncclprobe::knowledge {

enum class DriverVerdict {
  full,           // all features of the runtime
  minor_compat,   // runs, without features of the newer driver
  forward_compat, // runs with a cuda-compat libcuda
  insufficient,   // error 35 at the first CUDA call
  unknown,        // the tables do not know this runtime
};

struct DriverFit {
  DriverVerdict verdict = DriverVerdict::unknown;
  std::optional<VersionNumber> full;  // driver that comes with the runtime
  std::optional<VersionNumber> least; // oldest driver that runs it at all
  std::string meaning;                // one sentence
};

// Does the libcuda that the process loads come from a cuda-compat package?
enum class LoadedDriver { system, compat_package };

DriverFit judge_driver(const VersionNumber& driver, const VersionNumber& cuda_runtime,
                       LoadedDriver loaded = LoadedDriver::system);

// The newest CUDA runtimes in the tables that a driver runs: with all their features, and with
// fewer.
struct NewestRuntimes {
  std::optional<VersionNumber> full;
  std::optional<VersionNumber> minor_compat; // only if newer
};
// `last`: the newest branch that supports a GPU, if newer ones do not.
NewestRuntimes newest_runtimes(const VersionNumber& driver,
                               const std::optional<VersionNumber>& last = std::nullopt);

enum class CodeVerdict {
  native,     // machine code for exactly this GPU
  same_major, // machine code for a smaller minor of its major
  ptx_jit,    // the driver compiles PTX when the program starts, if it supports that PTX version
  none,       // "no kernel image is available for execution on the device"
};

struct CodeFit {
  CodeVerdict verdict = CodeVerdict::none;
  std::optional<CodeTarget> via; // the code that runs
};

// Does machine code for this target run on the GPU? Does its PTX?
bool cubin_runs_on(const CodeTarget& cubin, const ComputeCapability& gpu);
bool ptx_serves(const CodeTarget& ptx, const ComputeCapability& gpu);

// Which code of a library a GPU would run.
CodeFit judge_code(const ComputeCapability& gpu, std::span<const CodeTarget> cubins,
                   std::span<const CodeTarget> ptx);

// Why nothing runs: only code for newer GPUs, only for older ones, or neither.
enum class Misfit { gpu_too_old, gpu_too_new, gap };
// Call it only if judge_code() says none.
Misfit why_no_code(const ComputeCapability& gpu, std::span<const CodeTarget> cubins,
                   std::span<const CodeTarget> ptx);

// The first and last software that supports a GPU.
struct SupportHorizon {
  std::string architecture;                  // "Hopper"; empty: not in the tables
  std::optional<VersionNumber> first_cuda;   // that compiles for it
  std::optional<VersionNumber> last_cuda;    // absent: none so far, according to the tables
  std::optional<VersionNumber> first_driver; // branch: 520 for r520
  std::optional<VersionNumber>
      last_driver; // absent: newer branches still support it, according to the tables
  const PytorchWheel* first_wheel = nullptr; // that has code for it
  const PytorchWheel* last_wheel = nullptr;  // newest that still has
  std::vector<std::string> newest_without;   // tags of the newest release that lack code for it
};
SupportHorizon support_horizon(const ComputeCapability& gpu, CpuKind cpu = CpuKind::x86_64);

// Does the wheel contain machine code for the GPU or its major?
bool has_code(const PytorchWheel& wheel, const ComputeCapability& gpu);

// The same as text: "all code is for newer GPUs"
std::string_view misfit_text(Misfit misfit);
// "an older build: CUDA 12.9 was the last to compile for sm_70", "a build for sm_120 (CUDA 12.8 or
// newer)"
std::string build_for(const ComputeCapability& gpu, Misfit misfit);
// "of PyTorch's wheels 2.7+cu126 is the newest with its code"; empty if no known wheel has it.
std::string wheels_for(const ComputeCapability& gpu, Misfit misfit, CpuKind cpu = CpuKind::x86_64);

} // namespace ncclprobe::knowledge
