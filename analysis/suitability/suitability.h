// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/suitability/prices.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "knowledge/driver_advice.h"
#include "knowledge/gpu_models.h"
#include "knowledge/nccl_tables.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// A GPU's suitability: the five dimensions of a choice (capability, memory, interconnect, power and
// form factor, price), the software that supports it, and the features that its chain of needs
// allows.
namespace ncclprobe::analysis {

// A GPU to explain: from this machine or named by the user.
struct GpuInQuestion {
  std::string name; // as requested or as the driver reports it
  knowledge::ComputeCapability capability;
  std::vector<const knowledge::GpuModel*>
      models;                      // none: not in the tables; several: the name is ambiguous
  std::optional<double> memory_gb; // as the driver reports it; absent: not seen
  std::optional<int> nvlinks;      // active ones, as the driver reports them; absent: not seen
  int count = 1;                   // in this machine
  bool is_capability = false;      // requested as "sm_89": any of these models
};
// "T4", "NVIDIA A100-SXM4-80GB", "sm_89", "8.9". Errors: invalid_argument with similar names; for a
// GPU that is not NVIDIA's, with its replacement for NCCL.
base::Result<GpuInQuestion> gpu_in_question(const std::string& text);

// Arm if all possible models of the host's GPU come only with an Arm CPU.
knowledge::CpuKind cpu_of(const GpuInQuestion& gpu);

// One for which NVIDIA makes cuda-compat packages.
bool in_data_center(const GpuInQuestion& gpu);

// A module whose GPU code must come from NVIDIA's JetPack: PyTorch's wheels for Arm are for
// servers, and support only those modules that CUDA 13 supports.
bool needs_jetpack(const GpuInQuestion& gpu);

// The known software around it; absent is unknown.
struct SoftwareInQuestion {
  std::optional<knowledge::VersionNumber> driver_cuda; // newest CUDA the driver knows
  std::optional<knowledge::VersionNumber> runtime_cuda;
  std::optional<knowledge::VersionNumber> nccl;
  std::optional<knowledge::VersionNumber> nccl_cuda; // CUDA version of the build
};

enum class Known { yes, no, unknown };

struct ChainVerdict {
  const knowledge::FeatureChain* chain = nullptr;
  std::vector<Known> links; // in the chain's order
  Known all = Known::unknown;
};
std::vector<ChainVerdict> judge_chains(const GpuInQuestion& gpu,
                                       const SoftwareInQuestion& software);

// How well current training software supports it, in one word, and why: by capability, and by
// whether the tables' newest PyTorch release has code for it in all its builds. It says nothing
// about speed.
enum class Suited { full, limited, outdated, unknown };
struct Suitability {
  Suited grade = Suited::unknown;
  std::vector<std::string> reasons;
};
Suitability suitability(const GpuInQuestion& gpu);

// The drivers, toolkits and cuda-compat packages that support all of these.
knowledge::GpuLimits software_limits(std::span<const GpuInQuestion> gpus);

// Releases of NCCL with faults that affect this GPU.
std::vector<const knowledge::KnownBadNccl*> bad_nccl(const GpuInQuestion& gpu);

// The dimensions of a choice, in words.
struct GpuDimensions {
  std::string capability;
  std::string unlocks; // the features that it brings
  std::string memory;
  std::string interconnect;
  std::string power_and_form;
  std::string price;                // per GPU, and of what it buys; empty: not given
  std::vector<std::string> sources; // addresses
};
GpuDimensions dimensions_of(const GpuInQuestion& gpu, const std::optional<double>& price);

// GPUs of several nodes may have different software around them.
struct GpuWithSoftware {
  GpuInQuestion gpu;
  SoftwareInQuestion software;
};
// CSV has a row for each GPU.
Report gpu_report(const std::vector<GpuWithSoftware>& gpus, const Prices& prices);

} // namespace ncclprobe::analysis
