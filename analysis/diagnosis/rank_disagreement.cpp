// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/rank_disagreement.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {
namespace {

void add_possible(const LogPatterns& patterns, std::string_view id,
                  const std::vector<LogEvidence>& lines, LogFindings& findings) {
  const knowledge::LogCause* cause = patterns.cause(id);
  auto is_known = [&](const LogProblem& one) { return one.cause == cause; };
  if (cause == nullptr || lines.empty() || std::ranges::any_of(findings.problems, is_known))
    return;
  LogProblem problem;
  problem.cause = cause;
  for (const LogEvidence& line : lines) {
    LogProblem one;
    one.severity = cause->severity;
    one.lines = 1;
    one.first = {line};
    if (line.rank)
      one.first_of_rank.emplace(*line.rank, line);
    add(one, problem);
  }
  findings.problems.push_back(std::move(problem));
}

// Of the first group whose ranks waited for different collectives.
std::vector<LogEvidence> different_collectives(const LogFindings& findings) {
  for (const auto& [rank, work] : findings.timed_out) {
    std::vector<LogEvidence> lines = {work.evidence};
    for (const auto& [other, its] : findings.timed_out)
      if (its.group == work.group && its.what != work.what)
        lines.push_back(its.evidence);
    if (lines.size() > 1)
      return lines;
  }
  return {};
}

std::vector<LogEvidence> different_versions(const LogFindings& findings) {
  std::vector<LogEvidence> lines;
  if (findings.nccl_versions.size() > 1)
    for (const auto& [version, evidence] : findings.nccl_versions)
      lines.push_back(evidence);
  return lines;
}

} // namespace

void find_disagreement(const LogPatterns& patterns, LogFindings& findings) {
  add_possible(patterns, "collective-mismatch", different_collectives(findings), findings);
  add_possible(patterns, "nccl-version-mix", different_versions(findings), findings);
}

} // namespace ncclprobe::analysis
