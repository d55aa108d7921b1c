// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D29: features that work only if every link of their chain is there.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "knowledge/nccl_tables.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

using knowledge::FeatureChain;
using knowledge::parse_version;
using knowledge::VersionNumber;

enum class Answer { no, unknown, yes };

Answer answer(bool holds) {
  return holds ? Answer::yes : Answer::no;
}

// What a chain is judged by: the least of the GPUs and libraries of all ranks.
class Subject {
public:
  Subject(const Case& one, const model::Survey& survey)
      : survey_(survey), host_(one.host_of(survey)) {}

  Answer holds(const FeatureChain::Link& link) const {
    const std::string& needs = link.needs;
    if (needs == "capability")
      return at_least(capability(), link.least);
    if (needs == "nccl")
      return at_least(version_of("nccl"), link.least);
    if (needs == "nccl_build") // which CUDA it was built with it does not say
      return std::min(at_least(version_of("nccl"), link.least), Answer::unknown);
    if (needs == "driver_and_runtime_cuda")
      return std::min(at_least(driver_cuda(), link.least),
                      at_least(version_of("cuda_runtime"), link.least));
    if (needs == "cumem_host_cuda")
      return std::min(at_least(driver_cuda(), {{12, 6}}),
                      at_least(version_of("cuda_runtime"), {{12, 2}}));
    if (needs == "multicast")
      return multicast();
    if (needs == "fabric")
      return fabric();
    if (needs == "nvls_enabled") {
      const model::Setting* setting = survey_.variable("NCCL_NVLS_ENABLE");
      return answer(setting == nullptr || setting->value != "0");
    }
    if (needs == "rank_per_gpu")
      return answer(survey_.ranks.size() <= survey_.inventory.gpus.size());
    if (needs == "rdma")
      return host_ == nullptr ? Answer::unknown : answer(!host_->rdma.empty());
    if (needs == "peermem_or_dmabuf")
      return host_ == nullptr ? Answer::unknown : answer(peermem() || dmabuf());
    if (needs == "gpudirect_nccl")
      return gpudirect_nccl();
    if (needs == "numa_calls") {
      auto allowed = survey_.process.confinement.numa_calls_allowed;
      return allowed ? answer(*allowed) : Answer::unknown;
    }
    return Answer::unknown;
  }

private:
  static Answer at_least(const std::optional<VersionNumber>& version, const VersionNumber& least) {
    return version ? answer(*version >= least) : Answer::unknown;
  }
  std::optional<VersionNumber> capability() const {
    std::optional<VersionNumber> least;
    for (const model::Gpu& gpu : survey_.inventory.gpus)
      if (auto one = parse_version(gpu.compute_capability); one && (!least || *one < *least))
        least = *one;
    return least;
  }
  std::optional<VersionNumber> version_of(const char* name) const {
    const model::Library* library = survey_.inventory.library(name);
    auto version = parse_version(library == nullptr ? "" : library->version);
    return version ? std::optional(*version) : std::nullopt;
  }
  std::optional<VersionNumber> driver_cuda() const {
    auto version = parse_version(driver_cuda_version(survey_));
    return version ? std::optional(*version) : std::nullopt;
  }
  Answer fabric() const {
    Answer all = survey_.health.empty() ? Answer::unknown : Answer::yes;
    for (const model::GpuHealth& gpu : survey_.health)
      all = std::min(all, gpu.fabric_state.empty() ? Answer::unknown
                                                   : answer(gpu.fabric_state == "completed" &&
                                                            gpu.fabric_status.value_or(0) == 0));
    return all;
  }
  Answer multicast() const {
    Answer all = survey_.health.empty() ? Answer::unknown : Answer::yes;
    for (const model::GpuHealth& gpu : survey_.health)
      all = std::min(all, gpu.multicast ? answer(*gpu.multicast) : Answer::unknown);
    return all;
  }
  bool peermem() const {
    return std::any_of(
        host_->driver.modules.begin(), host_->driver.modules.end(),
        [](const model::KernelModule& module) { return module.name == "nvidia_peermem"; });
  }
  bool dmabuf() const { return host_->driver.flavour == "open"; }
  Answer gpudirect_nccl() const {
    Answer with_dmabuf = at_least(version_of("nccl"), {{2, 13, 4}});
    Answer with_peermem = at_least(version_of("nccl"), {{2, 9, 8}});
    return host_ == nullptr || !peermem() ? with_dmabuf : with_peermem;
  }

  const model::Survey& survey_;
  const model::HostSurvey* host_;
};

const char* word_of(Answer given) {
  return given == Answer::yes ? "yes" : given == Answer::no ? "no" : "unknown";
}

} // namespace

void check_chains(const Case& one, Findings& into) {
  auto survey = std::find_if(one.surveys.begin(), one.surveys.end(), [](const model::Survey& each) {
    return !each.inventory.gpus.empty() && each.host;
  });
  if (survey == one.surveys.end())
    return;
  Subject subject(one, *survey);
  for (const FeatureChain& chain : knowledge::feature_chains()) {
    Answer all = Answer::yes;
    std::vector<std::string> seen;
    for (const FeatureChain::Link& link : chain.links) {
      Answer held = subject.holds(link);
      if (held != Answer::yes)
        seen.push_back(fmt::format("{}: {}", link.text, word_of(held)));
      all = std::min(all, held);
    }
    into.add_host(*survey, {"D29",
                            all == Answer::yes ? Severity::ok : Severity::info,
                            fmt::format("{}: {}", chain.feature, word_of(all)),
                            seen,
                            "",
                            "",
                            {},
                            {}});
  }
}

} // namespace ncclprobe::analysis::doctor
