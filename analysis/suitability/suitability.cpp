// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/suitability.h"

#include "knowledge/cuda_tables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

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

// Properties that only GPUs with NVLink have.
bool needs_nvlink(const FeatureChain::Link& link) {
  return link.needs == "multicast" || link.needs == "fabric" || link.needs == "imex" ||
         link.needs == "one_clique";
}

// A bridge is optional: observed links decide before the model's maximum.
bool has_no_nvlink(const GpuInQuestion& gpu) {
  return gpu.nvlinks ? *gpu.nvlinks == 0 : knowledge::all_without_nvlink(gpu.models);
}

Known judge_link(const FeatureChain::Link& link, const GpuInQuestion& gpu,
                 const SoftwareInQuestion& software) {
  if (needs_nvlink(link) && has_no_nvlink(gpu))
    return Known::no;
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

// The length of the common prefix of two words in letters and digits, if it contains a digit.
std::size_t common_start(std::string_view one, std::string_view other) {
  const auto [end, end_of_other] =
      std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const bool digit = std::any_of(one.begin(), end, [](char c) { return c >= '0' && c <= '9'; });
  return digit ? static_cast<std::size_t>(end - one.begin()) : 0;
}

std::size_t likeness(const knowledge::NameWords& asked, const knowledge::GpuModel& model) {
  std::size_t most = 0;
  for (const std::string& word : asked)
    for (const knowledge::NameWords& name : model.names)
      for (const std::string& other : name)
        most = std::max(most, common_start(word, other));
  return most;
}

// The models whose word is most like the requested one.
std::string near_names(const std::string& text) {
  constexpr std::size_t k_most = 8;
  constexpr std::size_t k_least_likeness = 2; // "a3" of "a30x"
  knowledge::NameWords asked = knowledge::words_of_gpu_name(text);
  asked.push_back(fmt::format("{}", fmt::join(asked, ""))); // "H 200"
  std::size_t best = k_least_likeness;
  for (const knowledge::GpuModel& one : knowledge::gpu_models())
    best = std::max(best, likeness(asked, one));
  std::vector<std::string> found;
  for (const knowledge::GpuModel& one : knowledge::gpu_models())
    if (likeness(asked, one) == best && found.size() < k_most)
      found.push_back(one.name);
  return found.empty() ? "such as T4, A100-SXM4-80GB, \"RTX 4090\", sm_89 or 8.9"
                       : fmt::format("did you mean one of: {}", fmt::join(found, ", "));
}

bool all_of_segment(const GpuInQuestion& gpu, knowledge::Segment segment) {
  return !gpu.models.empty() &&
         std::all_of(gpu.models.begin(), gpu.models.end(),
                     [&](const knowledge::GpuModel* one) { return one->segment == segment; });
}

base::Error not_known(const std::string& text) {
  if (auto other = knowledge::other_vendor(text))
    return {base::Errc::invalid_argument,
            fmt::format("'{}' comes from {}: ncclprobe is for NVIDIA GPUs and NCCL", text,
                        other->vendor),
            other->instead};
  return {base::Errc::invalid_argument,
          fmt::format("'{}' is not a known GPU model or compute capability", text),
          near_names(text)};
}

// A size that no model of this name has is the user's mistake; a driver may report any size.
std::optional<base::Error> wrong_memory(const std::string& text,
                                        const std::vector<const knowledge::GpuModel*>& models) {
  const knowledge::NameWords words = knowledge::words_of_gpu_name(text);
  const std::optional<double> gb = knowledge::memory_gb_in(words);
  std::set<std::string> sizes;
  for (const knowledge::GpuModel* model : models) {
    const bool by_name =
        std::any_of(model->names.begin(), model->names.end(), [&](const auto& name) {
          return knowledge::match_gpu_name(words, name) == knowledge::NameMatch::exact;
        });
    if (!gb || !model->memory_gb || *model->memory_gb == *gb || by_name)
      return std::nullopt;
    sizes.insert(fmt::format("{:g} GB", *model->memory_gb));
  }
  return base::Error{base::Errc::invalid_argument,
                     fmt::format("'{}' does not exist with {:g} GB, only with {}", text, *gb,
                                 fmt::join(sizes, ", ")),
                     "omit the size, or give one of these"};
}

// "RTX 6000" is a card of Turing or of Ada: no answer would hold for both.
std::optional<base::Error> open_capability(const std::string& text,
                                           const std::vector<const knowledge::GpuModel*>& models) {
  std::vector<std::string> each;
  bool differs = false;
  for (const knowledge::GpuModel* model : models) {
    differs = differs || model->capability != models.front()->capability;
    each.push_back(fmt::format("{} ({})", model->name, model->capability.text()));
  }
  if (!differs)
    return std::nullopt;
  return base::Error{base::Errc::invalid_argument,
                     fmt::format("'{}' can be {}", text, fmt::join(each, ", ")),
                     "say which one you mean"};
}

} // namespace

base::Result<GpuInQuestion> gpu_in_question(const std::string& text) {
  GpuInQuestion gpu;
  gpu.name = text;
  gpu.models = knowledge::find_gpu_models(text);
  if (!gpu.models.empty()) {
    for (auto refuses : {wrong_memory, open_capability})
      if (auto error = refuses(text, gpu.models))
        return base::fail(std::move(*error));
    gpu.capability = gpu.models.front()->capability;
    return gpu;
  }
  auto capability = knowledge::parse_compute_capability(text);
  if (!capability || knowledge::cuda_target(*capability) == nullptr)
    return base::fail(not_known(text));
  gpu.name = capability->sm();
  gpu.capability = *capability;
  gpu.is_capability = true;
  for (const knowledge::GpuModel& one : knowledge::gpu_models())
    if (one.capability == *capability)
      gpu.models.push_back(&one);
  return gpu;
}

knowledge::CpuKind cpu_of(const GpuInQuestion& gpu) {
  const bool arm =
      !gpu.models.empty() && std::all_of(gpu.models.begin(), gpu.models.end(),
                                         [](const auto* one) { return one->arm_host; });
  return arm ? knowledge::CpuKind::aarch64 : knowledge::CpuKind::x86_64;
}

bool in_data_center(const GpuInQuestion& gpu) {
  return all_of_segment(gpu, knowledge::Segment::data_center);
}

bool needs_jetpack(const GpuInQuestion& gpu) {
  constexpr knowledge::ComputeCapability k_thor{11, 0};
  return gpu.capability < k_thor && all_of_segment(gpu, knowledge::Segment::jetson);
}

knowledge::GpuLimits software_limits(std::span<const GpuInQuestion> gpus) {
  std::vector<knowledge::ComputeCapability> capabilities;
  for (const GpuInQuestion& one : gpus)
    capabilities.push_back(one.capability);
  knowledge::GpuLimits limits = knowledge::gpu_limits(capabilities);
  limits.compat_packages = std::all_of(gpus.begin(), gpus.end(), in_data_center);
  return limits;
}

std::vector<const knowledge::KnownBadNccl*> bad_nccl(const GpuInQuestion& gpu) {
  std::vector<const knowledge::KnownBadNccl*> all;
  for (const knowledge::KnownBadNccl& one : knowledge::known_bad_nccl())
    if (gpu.capability >= one.capability_from && !(one.needs_nvlink && has_no_nvlink(gpu)) &&
        !(one.arm_host && cpu_of(gpu) != knowledge::CpuKind::aarch64))
      all.push_back(&one);
  return all;
}

Suitability suitability(const GpuInQuestion& gpu) {
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  if (features == nullptr)
    return {Suited::unknown, {"its features are not in the tables"}};
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
  const knowledge::SupportHorizon horizon = knowledge::support_horizon(gpu.capability, cpu_of(gpu));
  if (needs_jetpack(gpu)) {
    out.reasons.push_back("PyTorch for it comes only with NVIDIA's JetPack");
  } else if (horizon.first_wheel == nullptr) {
    out.grade = Suited::outdated;
    out.reasons.push_back("no PyTorch wheel in the tables has code for it");
  } else if (!horizon.newest_without.empty()) {
    if (out.grade == Suited::full &&
        horizon.last_cuda) // not a capability that is too new for old builds
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
