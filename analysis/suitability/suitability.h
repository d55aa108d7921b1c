// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/prices.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "knowledge/driver_advice.h"
#include "knowledge/gpu_models.h"
#include "knowledge/nccl_tables.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What a GPU is good for: the five dimensions of a choice (capability, memory, interconnect, power
// and form factor, price), which software supports it, and which features its chain of needs
// allows.
namespace ncclprobe::analysis {

// A GPU to be explained: of this machine or named by the user.
struct GpuInQuestion {
  std::string name; // as asked or as the driver says
  knowledge::ComputeCapability capability;
  std::vector<const knowledge::GpuModel*>
      models;                      // none: not in the tables; several: the name is open
  std::optional<double> memory_gb; // as the driver says; absent: not seen
  std::optional<int> nvlinks;      // active, likewise
  int count = 1;                   // of this machine
  bool is_capability = false;      // asked for as "sm_89": any of these models
};
// "T4", "NVIDIA A100-SXM4-80GB", "sm_89", "8.9". Errors: invalid_argument with near names, and for
// what is no NVIDIA GPU with what is in the place of NCCL there.
base::Result<GpuInQuestion> gpu_in_question(const std::string& text);

// Of the host that it is in: Arm if all models that it can be come with an Arm CPU only.
knowledge::CpuKind cpu_of(const GpuInQuestion& gpu);

// One for which NVIDIA makes cuda-compat packages.
bool in_data_center(const GpuInQuestion& gpu);

// A module whose GPU code must come from NVIDIA's JetPack: PyTorch's wheels for Arm are for
// servers, and of the modules serve only those that CUDA 13 does.
bool needs_jetpack(const GpuInQuestion& gpu);

// What is known of the software around it; absent is unknown.
struct SoftwareInQuestion {
  std::optional<knowledge::VersionNumber> driver_cuda; // newest CUDA the driver knows
  std::optional<knowledge::VersionNumber> runtime_cuda;
  std::optional<knowledge::VersionNumber> nccl;
  std::optional<knowledge::VersionNumber> nccl_cuda; // that it was built with
};

enum class Known { yes, no, unknown };

struct ChainVerdict {
  const knowledge::FeatureChain* chain = nullptr;
  std::vector<Known> links; // in the chain's order
  Known all = Known::unknown;
};
std::vector<ChainVerdict> judge_chains(const GpuInQuestion& gpu,
                                       const SoftwareInQuestion& software);

// How far what training uses today is there, in one word, and why: by capability, and by whether
// the newest PyTorch release of the tables has code for it in all its builds. It says nothing of
// speed.
enum class Suited { full, limited, outdated, unknown };
constexpr auto enum_names(Suited) {
  using enum Suited;
  return std::to_array<std::pair<Suited, std::string_view>>(
      {{full, "full"}, {limited, "limited"}, {outdated, "outdated"}, {unknown, "unknown"}});
}
struct Suitability {
  Suited grade = Suited::unknown;
  std::vector<std::string> reasons;
};
Suitability suitability(const GpuInQuestion& gpu);

// Which drivers, toolkits and cuda-compat packages serve all of these.
knowledge::GpuLimits software_limits(std::span<const GpuInQuestion> gpus);

// Releases of NCCL with faults that show on this GPU.
std::vector<const knowledge::KnownBadNccl*> bad_nccl(const GpuInQuestion& gpu);

std::string explain_gpu(const GpuInQuestion& gpu, const SoftwareInQuestion& software,
                        const Prices& prices);
// GPUs of several nodes may have different software around them.
struct GpuWithSoftware {
  GpuInQuestion gpu;
  SoftwareInQuestion software;
};
// `more`: an object whose fields stand beside the GPUs.
std::string explain_gpus_json(const std::vector<GpuWithSoftware>& gpus, const Prices& prices,
                              const nlohmann::json& more);

} // namespace ncclprobe::analysis
