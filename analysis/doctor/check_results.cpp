// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/check_results.h"

#include "analysis/doctor/explanations.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 33> k_checks{
    {{"D01", "launcher"},       {"D02", "driver_present"}, {"D03", "inventory"},
     {"D04", "driver_runtime"}, {"D05", "fatbin"},         {"D06", "loaded_libraries"},
     {"D07", "rank_to_gpu"},    {"D08", "sharing"},        {"D09", "fabric"},
     {"D10", "multicast"},      {"D11", "health"},         {"D12", "topology"},
     {"D13", "acs_iommu"},      {"D14", "nccl_env"},       {"D15", "shm"},
     {"D16", "limits"},         {"D17", "container"},      {"D18", "interfaces"},
     {"D19", "rdma"},           {"D20", "memory"},         {"D21", "graphs"},
     {"D22", "clocks"},         {"D23", "algorithm"},      {"D24", "affinity"},
     {"D25", "dtypes"},         {"D26", "pytorch"},        {"D27", "end_to_end"},
     {"D29", "chains"},         {"D32", "agreement"},      {"D33", "persistence"},
     {"D34", "speed"},          {"D35", "nccl_faults"},    {"D36", "copies"}}};

template <typename T>
void merge_into(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more)
    if (std::find(all.begin(), all.end(), one) == all.end())
      all.push_back(one);
}

} // namespace

std::string_view check_name(std::string_view id) {
  for (const auto& [known, name] : k_checks)
    if (known == id)
      return name;
  return "";
}

std::vector<std::string_view> check_ids() {
  std::vector<std::string_view> ids;
  for (const auto& [id, name] : k_checks)
    ids.push_back(id);
  return ids;
}

CheckStatus worst(const std::vector<CheckResult>& findings) {
  CheckStatus gravest = CheckStatus::ok;
  for (const CheckResult& one : findings)
    gravest = std::max(gravest, one.status);
  return gravest;
}

void CheckResults::add(CheckResult finding) {
  for (Words* words : {&finding.cost, &finding.fix})
    words->text = in_words(words->sentence, finding.what.values);
  auto same = std::find_if(found_.begin(), found_.end(), [&](const CheckResult& one) {
    return one.id == finding.id && one.status == finding.status && one.what == finding.what &&
           one.fix == finding.fix;
  });
  if (same == found_.end()) {
    found_.push_back(std::move(finding));
    return;
  }
  merge_into(same->evidence, finding.evidence);
  merge_into(same->ranks, finding.ranks);
  merge_into(same->hosts, finding.hosts);
  merge_into(same->shows_as, finding.shows_as);
}

void CheckResults::add(const model::Survey& survey, CheckResult finding) {
  finding.ranks = survey.ranks;
  add_host(survey, std::move(finding));
}

void CheckResults::add_host(const model::Survey& survey, CheckResult finding) {
  finding.hosts = {survey.inventory.hostname};
  add(std::move(finding));
}

std::vector<CheckResult> CheckResults::take() {
  for (CheckResult& one : found_) {
    std::sort(one.ranks.begin(), one.ranks.end());
  }
  std::stable_sort(found_.begin(), found_.end(), [](const CheckResult& a, const CheckResult& b) {
    return a.status != b.status ? a.status > b.status : a.id < b.id;
  });
  return std::move(found_);
}

std::vector<CheckResult> examine(const Case& one) {
  CheckResults findings;
  check_launch(one, findings);
  if (!one.looked_at())
    return findings.take();
  for (auto check : {check_driver, check_compatibility, check_libraries, check_installed,
                     check_nccl_faults, check_rank_gpus, check_devices, check_fabric, check_health,
                     check_links, check_variables, check_host, check_network, check_between_hosts,
                     check_copies, check_smoke_tests, check_transports, check_speed, check_chains})
    check(one, findings);
  std::vector<CheckResult> found = findings.take();
  explain(found);
  return found;
}

} // namespace ncclprobe::analysis::doctor
