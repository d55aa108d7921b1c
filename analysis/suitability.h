// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/prices.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "knowledge/compatibility.h"
#include "knowledge/gpu_models.h"
#include "knowledge/nccl_tables.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
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
};
// "T4", "NVIDIA A100-SXM4-80GB", "sm_89", "8.9". Errors: invalid_argument with near names.
base::Result<GpuInQuestion> gpu_in_question(const std::string& text);

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
Suitability suitability(const knowledge::ComputeCapability& gpu);

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
