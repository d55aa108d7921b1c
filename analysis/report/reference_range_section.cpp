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

// The largest measured message of each collective, plain and out of place first.
std::map<std::string, const SettingResult*> largest(const std::vector<SettingResult>& results) {
  std::map<std::string, const SettingResult*> found;
  for (const SettingResult& one : results) {
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

} // namespace

Report reference_range_report(const model::Run& run, const std::vector<SettingResult>& results) {
  const model::RunHeader& header = run.header;
  if (header.backend != "nvidia" || header.synthetic || header.hosts.size() != 1)
    return {};
  auto links = node_links(header.hosts.front());
  if (!links)
    return {};
  Section section{"reference_range"};
  for (const auto& [workload, result] : largest(results)) {
    MeasuredFigure figure{{.collective = workload},
                          result->label.bytes,
                          result->ranks,
                          *result->busbw_gb_per_s,
                          nvls_off(run)};
    RangeVerdict verdict = judge_by_range(*links, figure);
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
