// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_findings.h"

#include "base/printable.h"
#include "base/text_layout.h"

#include <fmt/format.h>

namespace ncclprobe::analysis {
namespace {

constexpr std::size_t k_evidence_text = 240;

} // namespace

LogEvidence evidence_of(const LogLine& line, std::uint64_t number) {
  std::string text = base::printable(line.body.substr(0, k_evidence_text));
  if (line.body.size() > k_evidence_text)
    text += "...";
  return {number, line.rank, line.host, line.gpu, line.time, std::move(text)};
}

void add(const LogProblem& more, LogProblem& problem) {
  problem.certain = problem.certain || more.certain;
  problem.severity = std::max(problem.severity, more.severity);
  problem.exact = problem.exact && more.exact;
  problem.lines += more.lines;
  if (problem.transport.empty())
    problem.transport = more.transport;
  problem.first.insert(problem.first.end(), more.first.begin(), more.first.end());
  std::ranges::stable_sort(
      problem.first, [](const LogEvidence& a, const LogEvidence& b) { return a.line < b.line; });
  problem.first.erase(
      std::unique(problem.first.begin(), problem.first.end(),
                  [](const LogEvidence& a, const LogEvidence& b) { return a.line == b.line; }),
      problem.first.end());
  if (problem.first.size() > k_first_evidence)
    problem.first.resize(k_first_evidence);
  for (const auto& [rank, evidence] : more.first_of_rank) {
    auto known = problem.first_of_rank.find(rank);
    if (known == problem.first_of_rank.end()) {
      if (problem.first_of_rank.size() < k_most_ranks)
        problem.first_of_rank.emplace(rank, evidence);
    } else if (evidence.line < known->second.line)
      known->second = evidence;
  }
}

// Each communicator numbers its ranks separately. With several communicators, the lines of two ends
// may belong to two pairs.
std::vector<std::pair<std::pair<int, int>, LogConnection>>
LogFindings::detours_within_a_host(std::string_view transport) const {
  std::vector<std::pair<std::pair<int, int>, LogConnection>> detours;
  for (const auto& [ranks, one] : indirect_connections) {
    if (!one.transport.starts_with(transport))
      continue;
    bool one_host =
        one.transport.starts_with("SHM/") || nodes == 1 ||
        (one_communicator && !one.sending_host.empty() && one.sending_host == one.receiving_host);
    if (one_host)
      detours.emplace_back(ranks, one);
  }
  return detours;
}

LogEvidence evidence_of_detours(const LogFindings& findings, std::string_view transport) {
  constexpr std::size_t k_most_pairs = 8;
  const auto detours = findings.detours_within_a_host(transport);
  std::vector<std::string> pairs;
  LogEvidence evidence;
  for (const auto& [ranks, one] : detours) {
    if (pairs.size() < k_most_pairs)
      pairs.push_back(fmt::format("{}->{}", ranks.first, ranks.second));
    evidence.line = evidence.line == 0 ? one.line : std::min(evidence.line, one.line);
  }
  if (detours.size() > k_most_pairs)
    pairs.push_back("...");
  evidence.text = fmt::format("{} of ranks on one host: {} (via {})",
                              base::count_of(detours.size(), "pair", "pairs"),
                              base::join(pairs, ", "), transport);
  return evidence;
}

} // namespace ncclprobe::analysis
