// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D29: features that need every link of a chain.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "knowledge/nccl_tables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

using knowledge::FeatureChain;
using knowledge::parse_version;
using knowledge::VersionNumber;

enum class Answer { no, unknown, yes };

Answer answer(bool holds) {
  return holds ? Answer::yes : Answer::no;
}

const model::Survey* first_of_host(const Case& one, const model::Survey& survey) {
  for (const model::Survey& other : one.surveys)
    if (other.host && other.inventory.same_host(survey.inventory))
      return &other;
  return nullptr;
}

// The inputs of a chain for one rank: its GPUs, its libraries, and the survey of its host's first
// rank.
class JudgedRank {
public:
  JudgedRank(const Case& one, const model::Survey& survey)
      : case_(one), survey_(survey), first_(first_of_host(one, survey)),
        host_(first_ == nullptr ? nullptr : &*first_->host) {}

  Answer holds(const FeatureChain::Link& link) const {
    const std::string& needs = link.needs;
    if (needs == "capability")
      return at_least(capability(), link.least);
    if (needs == "nccl")
      return at_least(version_of("nccl"), link.least);
    if (needs == "nccl_build")
      return std::min(at_least(version_of("nccl"), link.least),
                      at_least(nccl_cuda(), link.least_cuda));
    if (needs == "driver_and_runtime_cuda")
      return std::min(at_least(driver_cuda(), link.least),
                      at_least(version_of("cuda_runtime"), link.least));
    if (needs == "cumem_host_cuda")
      return std::min(at_least(driver_cuda(), {{12, 6}}),
                      at_least(version_of("cuda_runtime"), {{12, 2}}));
    if (needs == "nvls_enabled") {
      const model::Setting* setting = survey_.variable("NCCL_NVLS_ENABLE");
      return answer(setting == nullptr || setting->value != "0");
    }
    if (needs == "rank_per_gpu")
      return rank_per_gpu();
    if (needs == "numa_calls") {
      auto allowed = survey_.process.confinement.numa_calls_allowed;
      return allowed ? answer(*allowed) : Answer::unknown;
    }
    if (needs == "graph_tested")
      return graph_tested();
    if (needs == "nvls_chosen")
      return nvls_chosen();
    return host_ == nullptr ? Answer::unknown : holds_on_host(link);
  }

private:
  Answer holds_on_host(const FeatureChain::Link& link) const {
    const std::string& needs = link.needs;
    if (needs == "multicast")
      return of_all_gpus([](const model::GpuHealth& gpu) {
        return gpu.multicast ? answer(*gpu.multicast) : Answer::unknown;
      });
    if (needs == "fabric")
      return of_all_gpus([](const model::GpuHealth& gpu) {
        return gpu.fabric_state.empty()
                   ? Answer::unknown
                   : answer(gpu.fabric_state == "completed" && gpu.fabric_status.value_or(0) == 0);
      });
    if (needs == "one_clique")
      return of_all_gpus([&](const model::GpuHealth& gpu) { return in_the_clique(gpu); });
    if (needs == "imex") // only the domain's own tool knows whether it is up
      return count_imex_channels(host_->driver) == 0 ? Answer::no : Answer::unknown;
    if (needs == "rdma")
      return answer(!host_->rdma.empty());
    if (needs == "peermem_or_dmabuf")
      return answer(peermem() || dmabuf());
    if (needs == "gpudirect_nccl")
      return gpudirect_nccl();
    if (needs == "no_redirection")
      return no_redirection();
    return Answer::unknown;
  }

  static Answer at_least(const std::optional<VersionNumber>& version, const VersionNumber& least) {
    return version ? answer(*version >= least) : Answer::unknown;
  }
  static std::optional<VersionNumber> version_in(const std::string& text) {
    auto version = parse_version(text);
    return version ? std::optional(*version) : std::nullopt;
  }
  std::optional<VersionNumber> capability() const {
    std::optional<VersionNumber> least;
    for (const model::CudaDevice& gpu : survey_.inventory.gpus)
      if (auto one = parse_version(gpu.compute_capability); one && (!least || *one < *least))
        least = *one;
    return least;
  }
  std::optional<VersionNumber> version_of(const char* name) const {
    const model::Library* library = survey_.inventory.library(name);
    return version_in(library == nullptr ? "" : library->version);
  }
  std::optional<VersionNumber> driver_cuda() const {
    return version_in(driver_cuda_version(survey_));
  }
  // The leader's version; D32 reports ranks with another NCCL.
  std::optional<VersionNumber> nccl_cuda() const {
    return version_in(case_.code.empty() ? "" : case_.code.front().cuda);
  }
  Answer rank_per_gpu() const {
    std::size_t ranks = 0;
    std::set<std::string> gpus;
    for (const model::Survey& other : case_.surveys)
      if (other.inventory.same_host(survey_.inventory)) {
        ranks += other.ranks.size();
        for (const model::CudaDevice& gpu : other.inventory.gpus)
          gpus.insert(gpu.uuid.empty() ? gpu.pci_bus_id : gpu.uuid);
      }
    return answer(ranks <= gpus.size());
  }
  template <typename Judge>
  Answer of_all_gpus(Judge judge) const {
    Answer all = first_->health.empty() ? Answer::unknown : Answer::yes;
    for (const model::GpuHealth& gpu : first_->health)
      all = std::min(all, judge(gpu));
    return all;
  }
  // From the first GPU on any host that reports one.
  Answer in_the_clique(const model::GpuHealth& gpu) const {
    if (gpu.fabric_cluster.empty())
      return gpu.fabric_state == "not_supported" ? Answer::no : Answer::unknown;
    if (!in_cluster(gpu))
      return Answer::no;
    for (const model::Survey& other : case_.surveys)
      for (const model::GpuHealth& first : other.health)
        if (in_cluster(first))
          return answer(first.fabric_cluster == gpu.fabric_cluster &&
                        first.fabric_clique == gpu.fabric_clique);
    return Answer::unknown;
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
    return peermem() ? with_peermem : with_dmabuf;
  }
  // As in D13. A guest cannot see what its hypervisor does.
  Answer no_redirection() const {
    const model::PciSurvey& pci = host_->pci;
    if (!pci.hypervisor.empty() || pci.bridges.empty())
      return Answer::unknown;
    Answer all = Answer::yes;
    for (const model::PciBridge& bridge : pci.bridges)
      all = std::min(all,
                     bridge.redirects_peers ? answer(!*bridge.redirects_peers) : Answer::unknown);
    return all;
  }
  // A feature that was tried needs no guess.
  Answer graph_tested() const {
    Answer worst = Answer::yes;
    bool tried = false;
    for (const SmokeTest& smoke_test : case_.smoke_tests)
      for (const SmokeTestCell& cell : smoke_test.cells) {
        bool ran = cell.outcome.kind != model::OutcomeKind::not_run &&
                   cell.outcome.kind != model::OutcomeKind::skipped;
        if (smoke_test.backend != "nvidia" || !is_graph(cell) || !ran)
          continue;
        tried = true;
        worst = std::min(worst, answer(cell.outcome.ok()));
      }
    return tried ? worst : Answer::unknown;
  }
  // NCCL uses other algorithms for small messages, even if it uses NVLS for large ones.
  Answer nvls_chosen() const {
    Answer chosen = Answer::unknown;
    for (const SmokeTest& smoke_test : case_.smoke_tests)
      for (const ChosenAlgorithm& one : smoke_test.algorithms) {
        if (one.function != "AllReduce" || !is_named(one))
          continue;
        if (one.algorithm.starts_with("NVLS"))
          return Answer::yes;
        if (one.bytes >= k_measured_bytes)
          chosen = Answer::no;
      }
    return chosen;
  }

  const Case& case_;
  const model::Survey& survey_;
  const model::Survey* first_;
  const model::HostSurvey* host_;
};

const char* word_of(Answer given) {
  return given == Answer::yes ? "yes" : given == Answer::no ? "no" : "unknown";
}

// The lowest value of all ranks, and its hosts if there are several.
Answer judge(const FeatureChain::Link& link, const Case& one,
             const std::vector<JudgedRank>& subjects,
             const std::vector<const model::Survey*>& surveys, std::string& line) {
  std::vector<Answer> given;
  for (const JudgedRank& subject : subjects)
    given.push_back(subject.holds(link));
  Answer least = *std::min_element(given.begin(), given.end());
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& host = surveys[i]->inventory.hostname;
    if (given[i] == least && std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(host);
  }
  line = fmt::format("{}: {}", link.text, word_of(least));
  if (count_hosts(one) > 1 && least != *std::max_element(given.begin(), given.end()))
    line += fmt::format(" on {}", fmt::join(hosts, ", "));
  return least;
}

} // namespace

void check_chains(const Case& one, CheckResults& into) {
  std::vector<const model::Survey*> surveys;
  std::vector<JudgedRank> subjects;
  std::vector<std::string> hosts;
  for (const model::Survey& survey : one.surveys) {
    if (survey.inventory.gpus.empty())
      continue;
    surveys.push_back(&survey);
    subjects.emplace_back(one, survey);
    if (std::find(hosts.begin(), hosts.end(), survey.inventory.hostname) == hosts.end())
      hosts.push_back(survey.inventory.hostname);
  }
  if (subjects.empty())
    return;
  for (const FeatureChain& chain : knowledge::feature_chains()) {
    Answer all = Answer::yes;
    std::vector<std::string> seen;
    for (const FeatureChain::Link& link : chain.links) {
      std::string line;
      Answer held = judge(link, one, subjects, surveys, line);
      if (held != Answer::yes)
        seen.push_back(std::move(line));
      all = std::min(all, held);
    }
    into.add({"D29",
              all == Answer::yes ? CheckStatus::ok : CheckStatus::info,
              What("feature", "{feature}: {state}",
                   {{"feature", chain.feature}, {"state", word_of(all)}}),
              seen,
              "",
              "",
              {},
              hosts});
  }
}

} // namespace ncclprobe::analysis::doctor
