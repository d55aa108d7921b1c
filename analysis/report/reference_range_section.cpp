// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/reference_range_section.h"

#include "analysis/reference/reference_range.h"
#include "analysis/report/label_words.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis {
namespace {

constexpr std::size_t k_causes = 3;

bool nvls_off(const model::Run& run) {
  return std::any_of(
      run.header.environment.begin(), run.header.environment.end(),
      [](const model::Setting& one) { return one.name == "NCCL_NVLS_ENABLE" && one.value == "0"; });
}

// NCCL then takes parts of the host for hosts, and data goes through the network.
bool splits_hosts(const model::Run& run) {
  auto is_host_id = [](const model::Setting& one) { return one.name == "NCCL_HOSTID"; };
  return std::ranges::any_of(run.header.environment, is_host_id) ||
         std::ranges::any_of(run.trials, [&](const model::TrialRecord& trial) {
           return std::ranges::any_of(trial.spec.process.per_rank, [&](const auto& of_rank) {
             return std::ranges::any_of(of_rank.second, is_host_id);
           });
         });
}

// The largest measured message of each collective, plain and out of place first.
std::map<std::string, const SettingResult*>
largest(const std::vector<const SettingResult*>& results) {
  std::map<std::string, const SettingResult*> found;
  for (const SettingResult* result : results) {
    const SettingResult& one = *result;
    const auto* collective = one.label.collective();
    if (!one.is_default || !collective || !collective->is_plain() || !one.busbw_gb_per_s ||
        one.timing_mode != model::TimingMode::batch || one.data == DataState::wrong)
      continue;
    const SettingResult*& best = found[one.label.workload()];
    if (best == nullptr || one.label.bytes > best->label.bytes)
      best = &one;
  }
  return found;
}

struct JudgedResult {
  const SettingResult* result;
  MeasuredFigure figure;
  RangeVerdict verdict;
};

// Nothing if nobody knows what to expect of such a machine.
std::vector<JudgedResult> judged_results(const model::Run& run,
                                         const std::vector<const SettingResult*>& results) {
  const model::RunHeader& header = run.header;
  if (header.backend != "nvidia" || header.synthetic || header.hosts.size() != 1 ||
      splits_hosts(run))
    return {};
  const auto links = node_links(header.hosts.front());
  if (!links)
    return {};
  std::vector<JudgedResult> judged;
  for (const auto& [workload, result] : largest(results)) {
    const MeasuredFigure figure{{.collective = workload},
                                result->label.bytes,
                                result->ranks,
                                *result->busbw_gb_per_s,
                                nvls_off(run)};
    judged.push_back({result, figure, judge_by_range(*links, figure)});
  }
  return judged;
}

} // namespace

std::vector<ReferenceLine> reference_lines(const model::Run& run,
                                           const std::vector<const SettingResult*>& results) {
  std::vector<ReferenceLine> lines;
  for (const JudgedResult& one : judged_results(run, results)) {
    if (one.verdict.expected_gb_per_s)
      lines.push_back(
          {one.verdict.estimate ? "estimated from the links" : "published for this node",
           *one.verdict.expected_gb_per_s});
    if (one.verdict.ceiling_gb_per_s)
      lines.push_back({"ceiling of the links", *one.verdict.ceiling_gb_per_s});
  }
  return lines;
}

Report reference_range_report(const model::Run& run, const std::vector<SettingResult>& results) {
  std::vector<const SettingResult*> all;
  for (const SettingResult& result : results)
    all.push_back(&result);
  Section section{"reference_range"};
  for (const auto& [result, figure, verdict] : judged_results(run, all)) {
    if (!verdict.source.empty() || verdict.verdict != RangeLevel::unknown)
      section.blocks.push_back(Text{"", describe(*result) + ": " + describe(verdict, figure), 2});
    for (std::size_t i = 0; i < verdict.causes.size() && i < k_causes; ++i)
      section.blocks.push_back(Text{"", fmt::format("{}. {}", i + 1, verdict.causes[i]), 4});
  }
  if (section.blocks.empty())
    return {};
  section.title = "Is this normal?";
  return {.sections = {std::move(section)}};
}

} // namespace ncclprobe::analysis
