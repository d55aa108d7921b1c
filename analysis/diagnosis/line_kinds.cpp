// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/line_kinds.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::CauseRole;
using knowledge::LogCause;

// Real logs have a few dozen.
constexpr std::size_t k_most_kinds = 4096;

bool names_a_cause(const LogCause& cause) {
  return cause.role == CauseRole::cause || cause.role == CauseRole::secondary;
}

// Words of a last resort prove nothing specific, however many there are.
bool is_specific(const LogCause& cause) {
  return names_a_cause(cause) && !cause.last_resort;
}

} // namespace

LineKinds::LineKinds(const LogPatterns& patterns)
    : patterns_(patterns), contexts_(patterns.context_count()) {}

void LineKinds::note(const LogPatterns::LineVerdict& verdict, const LogLine& line,
                     std::uint64_t number, bool exact) {
  for (int context : verdict.contexts)
    if (auto& given = contexts_[context]; !given)
      given = evidence_of(line, number);
  if (verdict.signs.empty())
    return;
  auto found = kinds_.find(verdict.signs);
  if (found == kinds_.end()) {
    if (kinds_.size() >= k_most_kinds)
      return;
    found = kinds_.emplace(verdict.signs, Kind{verdict, {}}).first;
  }
  LogProblem& lines = found->second.lines;
  ++lines.lines;
  lines.exact = lines.exact && exact;
  if (lines.first.size() < k_first_evidence)
    lines.first.push_back(evidence_of(line, number));
  if (line.rank && lines.first_of_rank.size() < k_most_ranks &&
      lines.first_of_rank.count(*line.rank) == 0)
    lines.first_of_rank.emplace(*line.rank, evidence_of(line, number));
}

bool LineKinds::holds(int number, const LogFindings& findings) const {
  const LogPatterns::Sign& one = patterns_.signs()[number];
  auto given = [&](int context) { return contexts_[context].has_value(); };
  if (one.with >= 0 && !given(one.with))
    return false;
  if (one.without >= 0 && given(one.without))
    return false;
  return one.sign->transport.empty() ||
         !findings.detours_within_a_host(one.sign->transport).empty();
}

void LineKinds::add_circumstances(int number, const LogFindings& findings,
                                  LogProblem& problem) const {
  const LogPatterns::Sign& sign = patterns_.signs()[number];
  LogProblem circumstances;
  if (sign.with >= 0)
    circumstances.first.push_back(*contexts_[sign.with]);
  if (!sign.sign->transport.empty())
    circumstances.first.push_back(evidence_of_detours(findings, sign.sign->transport));
  add(circumstances, problem);
}

std::vector<LogProblem> LineKinds::causes_of(const Kind& kind, const LogFindings& findings) const {
  std::vector<int> shown;
  for (int sign : kind.verdict.signs)
    if (holds(sign, findings))
      shown.push_back(sign);
  auto sign_of = [&](int number) -> const LogPatterns::Sign& { return patterns_.signs()[number]; };
  auto is_shown = [&](int sign) { return std::ranges::find(shown, sign) != shown.end(); };
  // More specific words win over parts of them.
  std::vector<int> general;
  for (const auto& [part, whole] : kind.verdict.inside)
    if (is_shown(whole) && is_specific(*sign_of(whole).cause))
      general.push_back(part);
  std::erase_if(shown, [&](int sign) { return std::ranges::find(general, sign) != general.end(); });
  bool proven = std::ranges::any_of(shown, [&](int sign) {
    return sign_of(sign).sign->proves && names_a_cause(*sign_of(sign).cause);
  });
  std::erase_if(shown, [&](int sign) { return proven && !sign_of(sign).sign->proves; });
  bool any_other =
      std::ranges::any_of(shown, [&](int sign) { return !sign_of(sign).cause->last_resort; });
  std::erase_if(shown, [&](int sign) { return any_other && sign_of(sign).cause->last_resort; });

  std::vector<LogProblem> problems;
  for (int number : shown) {
    const LogPatterns::Sign& sign = sign_of(number);
    auto known = std::ranges::find_if(
        problems, [&](const LogProblem& one) { return one.cause == sign.cause; });
    if (known == problems.end()) {
      known = problems.insert(problems.end(), kind.lines);
      known->cause = sign.cause;
    }
    known->certain = known->certain || sign.sign->proves;
    known->severity = std::max(known->severity, sign.sign->severity.value_or(sign.cause->severity));
    if (known->transport.empty())
      known->transport = sign.sign->transport;
    add_circumstances(number, findings, *known);
  }
  return problems;
}

void LineKinds::finish(LogFindings& findings) const {
  for (const auto& [signs, kind] : kinds_) {
    std::vector<LogProblem> shown = causes_of(kind, findings);
    if (shown.empty() && kind.verdict.suspicious)
      findings.unknown.push_back({kind.lines.first.front(), kind.lines.lines});
    for (const LogProblem& one : shown) {
      auto known = std::ranges::find_if(
          findings.problems, [&](const LogProblem& other) { return other.cause == one.cause; });
      if (known == findings.problems.end())
        findings.problems.push_back(one);
      else
        add(one, *known);
    }
  }
  std::ranges::stable_sort(findings.problems, [](const LogProblem& a, const LogProblem& b) {
    return a.first.front().line < b.first.front().line;
  });
}

} // namespace ncclprobe::analysis
