// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability.h"

#include "knowledge/cuda_tables.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::FeatureChain;
using knowledge::VersionNumber;

Known at_least(const std::optional<VersionNumber>& have, const VersionNumber& least) {
  if (!have)
    return Known::unknown;
  return *have >= least ? Known::yes : Known::no;
}

Known both(Known one, Known other) {
  if (one == Known::no || other == Known::no)
    return Known::no;
  return one == Known::yes && other == Known::yes ? Known::yes : Known::unknown;
}

Known judge_link(const FeatureChain::Link& link, const GpuInQuestion& gpu,
                 const SoftwareInQuestion& software) {
  if (link.needs == "capability")
    return at_least(VersionNumber{{gpu.capability.major, gpu.capability.minor}}, link.least);
  if (link.needs == "nccl")
    return at_least(software.nccl, link.least);
  if (link.needs == "nccl_build")
    return both(at_least(software.nccl, link.least), at_least(software.nccl_cuda, link.least_cuda));
  if (link.needs == "driver_and_runtime_cuda")
    return both(at_least(software.driver_cuda, link.least),
                at_least(software.runtime_cuda, link.least));
  return Known::unknown;
}

// Names that share their longest word with what was asked for.
std::string near_names(const std::string& text) {
  std::string digits;
  for (char c : text)
    if (c >= '0' && c <= '9')
      digits += c;
  std::string found;
  for (const knowledge::GpuModel& one : knowledge::gpu_models())
    if (digits.size() >= 2 && one.name.find(digits) != std::string::npos)
      found += (found.empty() ? "" : ", ") + one.name;
  return found.empty() ? "such as T4, A100-SXM4-80GB, \"RTX 4090\", sm_89 or 8.9"
                       : "did you mean one of: " + found;
}

} // namespace

base::Result<GpuInQuestion> gpu_in_question(const std::string& text) {
  GpuInQuestion gpu;
  gpu.name = text;
  gpu.models = knowledge::find_gpu_models(text);
  if (!gpu.models.empty()) {
    gpu.capability = gpu.models.front()->capability;
    return gpu;
  }
  auto capability = knowledge::parse_compute_capability(text);
  if (!capability || knowledge::cuda_target(*capability) == nullptr)
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("'{}' is no GPU model or compute capability that the "
                                              "tables know",
                                              text),
                                  near_names(text)});
  gpu.name = capability->sm();
  gpu.capability = *capability;
  for (const knowledge::GpuModel& one : knowledge::gpu_models())
    if (one.capability == *capability)
      gpu.models.push_back(&one);
  return gpu;
}

Suitability suitability(const knowledge::ComputeCapability& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu);
  if (features == nullptr)
    return {Suited::unknown, {"what it brings is not in the tables"}};
  Suitability out{Suited::full, {}};
  if (features->tensor_types.empty())
    out = {Suited::outdated, {"no tensor cores"}};
  else if (!features->bf16_ops.value_or(false))
    out = {Suited::limited,
           {"tensor cores without BF16 and TF32: mixed precision is FP16 with loss scaling"}};
  else if (features->fp4.value_or(false))
    out.reasons = {"BF16, TF32, FP8 and FP4"};
  else if (features->fp8.value_or(false))
    out.reasons = {"BF16, TF32 and FP8"};
  else
    out.reasons = {"BF16 and TF32, no FP8"};
  const knowledge::SupportHorizon horizon = knowledge::support_horizon(gpu);
  if (horizon.first_wheel == nullptr) {
    out.grade = Suited::outdated;
    out.reasons.push_back("no PyTorch wheel of the tables has code for it");
  } else if (!horizon.newest_without.empty()) {
    if (out.grade == Suited::full && horizon.last_cuda) // not one that is too new for old builds
      out.grade = Suited::limited;
    out.reasons.push_back(fmt::format("the newest PyTorch release has no code for it in {}",
                                      fmt::join(horizon.newest_without, ", ")));
  }
  if (horizon.last_cuda)
    out.reasons.push_back(
        fmt::format("CUDA {} is the last that compiles for it", horizon.last_cuda->text()));
  return out;
}

std::vector<ChainVerdict> judge_chains(const GpuInQuestion& gpu,
                                       const SoftwareInQuestion& software) {
  std::vector<ChainVerdict> verdicts;
  for (const FeatureChain& chain : knowledge::feature_chains()) {
    ChainVerdict verdict{&chain, {}, Known::yes};
    for (const FeatureChain::Link& link : chain.links) {
      verdict.links.push_back(judge_link(link, gpu, software));
      if (verdict.links.back() == Known::no)
        verdict.all = Known::no;
      else if (verdict.links.back() == Known::unknown && verdict.all == Known::yes)
        verdict.all = Known::unknown;
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

} // namespace ncclprobe::analysis
