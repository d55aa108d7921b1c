// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D29: features that work only if every link of their chain is there.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "knowledge/nccl_tables.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

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

  // The links as the tables word them.
  Answer holds(const std::string& link) const {
    if (link.starts_with("CC >= "))
      return at_least(capability(), link.substr(6));
    if (link.starts_with("NCCL >= "))
      return built_with(link, at_least(version_of("nccl"), link.substr(8)));
    if (link.starts_with("CUDA >= "))
      return at_least(version_of("cuda_runtime"), link.substr(8));
    if (link.starts_with("driver and runtime >= CUDA "))
      return std::min(at_least(driver_cuda(), link.substr(27)),
                      at_least(version_of("cuda_runtime"), link.substr(27)));
    if (link == "driver >= 12.6 and runtime >= 12.2")
      return std::min(at_least(driver_cuda(), "12.6"),
                      at_least(version_of("cuda_runtime"), "12.2"));
    if (link.starts_with("NVSwitch gen 3+"))
      return fabric();
    if (link == "NCCL_NVLS_ENABLE != 0") {
      const model::Setting* setting = survey_.variable("NCCL_NVLS_ENABLE");
      return answer(setting == nullptr || setting->value != "0");
    }
    if (link == "one rank per GPU")
      return answer(survey_.ranks.size() <= survey_.inventory.gpus.size());
    if (link == "RDMA NIC visible")
      return host_ == nullptr ? Answer::unknown : answer(!host_->rdma.empty());
    if (link.starts_with("nvidia_peermem loaded"))
      return host_ == nullptr
                 ? Answer::unknown
                 : answer(host_->driver.flavour == "open" || has_module("nvidia_peermem"));
    if (link == "NUMA system calls allowed") {
      auto allowed = survey_.process.confinement.numa_calls_allowed;
      return allowed ? answer(*allowed) : Answer::unknown;
    }
    return Answer::unknown;
  }

private:
  static Answer at_least(const std::optional<VersionNumber>& version, const std::string& least) {
    auto wanted = parse_version(least);
    return version && wanted ? answer(*version >= *wanted) : Answer::unknown;
  }
  // Which CUDA a library was built with it does not say.
  static Answer built_with(const std::string& link, Answer version) {
    bool more = link.find("built with") != std::string::npos;
    return more ? std::min(version, Answer::unknown) : version;
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
    if (survey_.health.empty())
      return Answer::unknown;
    return answer(std::all_of(survey_.health.begin(), survey_.health.end(), [](const auto& gpu) {
      return gpu.fabric_state == "completed" && gpu.fabric_status.value_or(0) == 0;
    }));
  }
  bool has_module(const char* name) const {
    return std::any_of(host_->driver.modules.begin(), host_->driver.modules.end(),
                       [&](const model::KernelModule& module) { return module.name == name; });
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
  for (const knowledge::FeatureChain& chain : knowledge::feature_chains()) {
    Answer all = Answer::yes;
    std::vector<std::string> seen;
    for (const knowledge::FeatureChain::Link& link : chain.links) {
      Answer held = subject.holds(link.text);
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
