// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_diagnosis.h"

#include "base/name_ranks.h"
#include "base/text_layout.h"
#include "model/outcome.h"

#include <algorithm>
#include <iterator>

namespace ncclprobe::analysis {
namespace {

using knowledge::CauseRole;
using knowledge::CauseSeverity;

constexpr std::size_t k_unknown_quoted = 8;
// In public logs, the halt after a fault of a GPU's context follows within this time.
constexpr double k_soon_s = 60;

// By the clock if both lines have the same kind of clock, else by their order in the log. Lines of
// several ranks arrive in buffers, so the clock is more reliable.
bool earlier(const LogEvidence& a, const LogEvidence& b) {
  if (a.time && b.time && a.time->kind == b.time->kind && a.time->seconds != b.time->seconds)
    return a.time->seconds < b.time->seconds;
  return a.line < b.line;
}

// The earliest line of a problem over all its ranks.
const LogEvidence& earliest(const LogProblem& problem) {
  const LogEvidence* found = &problem.first.front();
  for (const LogEvidence& one : problem.first)
    found = earlier(one, *found) ? &one : found;
  for (const auto& [rank, one] : problem.first_of_rank)
    found = earlier(one, *found) ? &one : found;
  return *found;
}

// Certain causes come before possible ones, faults before warnings, and possible consequences last.
int likelihood(const LogProblem& problem) {
  return (problem.certain ? 100 : 0) + (problem.severity == CauseSeverity::fail ? 10 : 0) +
         (problem.cause->role == CauseRole::cause ? 1 : 0);
}

void sort_likeliest_first(std::vector<const LogProblem*>& problems) {
  std::ranges::stable_sort(problems, [](const LogProblem* a, const LogProblem* b) {
    if (likelihood(*a) != likelihood(*b))
      return likelihood(*a) > likelihood(*b);
    return earlier(earliest(*a), earliest(*b));
  });
}

std::string place_of(const LogEvidence& evidence) {
  if (evidence.time)
    return fmt::format("line {} ({}) is the earliest", evidence.line, evidence.time->text);
  return fmt::format("line {} is the earliest", evidence.line);
}

// Ranks that have started fewer collectives than others: the others wait for them.
std::vector<int> ranks_behind(const LogFindings& findings) {
  std::uint64_t most = 0;
  for (const auto& [rank, progress] : findings.progress)
    most = std::max(most, progress.enqueued);
  std::vector<int> behind;
  for (const auto& [rank, progress] : findings.progress)
    if (progress.enqueued < most)
      behind.push_back(rank);
  return behind;
}

// Ranks of the world without a line about a problem.
std::vector<int> silent_ranks(const LogFindings& findings, const LogProblem& problem) {
  std::vector<int> silent;
  for (int rank = 0; rank < findings.world_size && findings.world_size <= 65536; ++rank)
    if (problem.first_of_rank.count(rank) == 0)
      silent.push_back(rank);
  return silent;
}

std::optional<FirstFailure> from_lines(const std::vector<const LogProblem*>& problems) {
  const LogEvidence* first = nullptr;
  for (const LogProblem* one : problems) {
    const LogEvidence& candidate = earliest(*one);
    if (one->severity == CauseSeverity::fail && (first == nullptr || earlier(candidate, *first)))
      first = &candidate;
  }
  if (first == nullptr)
    return std::nullopt;
  return FirstFailure{first->rank, first->host, *first, place_of(*first)};
}

void find_first_failure(const LogFindings& findings, LogDiagnosis& diagnosis) {
  std::vector<const LogProblem*> strong;
  for (const LogProblem* one : diagnosis.causes)
    if (one->cause->role == CauseRole::cause)
      strong.push_back(one);
  diagnosis.first_failure = from_lines(strong);
  auto behind = ranks_behind(findings);
  if (!diagnosis.first_failure && behind.size() == 1) {
    const RankProgress& progress = findings.progress.at(behind[0]);
    diagnosis.first_failure = FirstFailure{
        behind[0], progress.evidence.host, progress.evidence,
        fmt::format("it has started {} collectives, other ranks more", progress.enqueued)};
  }
  if (!diagnosis.first_failure || !diagnosis.first_failure->rank)
    if (!findings.named_by_launcher.empty()) {
      const auto& [rank, evidence] = *findings.named_by_launcher.begin();
      diagnosis.first_failure =
          FirstFailure{rank, evidence.host, evidence,
                       fmt::format("torchrun names it in line {}", evidence.line)};
    }
  // The remaining causes are usually consequences of another failure.
  for (const auto* list : {&diagnosis.wrappers, &diagnosis.causes, &diagnosis.consequences})
    if (!diagnosis.first_failure)
      diagnosis.first_failure = from_lines(*list);
}

void remark_on_ways(const LogFindings& findings, LogDiagnosis& diagnosis) {
  for (std::string_view transport : {"SHM", "NET"}) {
    bool explained = std::ranges::any_of(
        findings.problems, [&](const LogProblem& one) { return one.transport == transport; });
    if (explained || findings.detours_within_a_host(transport).empty())
      continue;
    LogEvidence detours = evidence_of_detours(findings, transport);
    diagnosis.remarks.push_back(
        fmt::format("NCCL copies {} instead of directly between the GPUs of {}; first in line {}. "
                    "`ncclprobe topo` on that host shows whether these GPUs can reach each other. "
                    "NCCL_P2P_DISABLE or NCCL_P2P_LEVEL may forbid it",
                    transport == "SHM" ? "through host memory" : "over the network", detours.text,
                    detours.line));
  }
}

void add_remarks(const LogFindings& findings, LogDiagnosis& diagnosis) {
  if (auto behind = ranks_behind(findings); !behind.empty())
    diagnosis.remarks.push_back(
        fmt::format("{} started fewer collectives than the others: they wait for {}",
                    base::name_ranks(behind), behind.size() == 1 ? "it" : "them"));
  for (const LogProblem& one : findings.problems) {
    if (one.cause->id != "collective-timeout" || one.first_of_rank.empty())
      continue;
    auto silent = silent_ranks(findings, one);
    if (!silent.empty() && silent.size() < one.first_of_rank.size())
      diagnosis.remarks.push_back(
          fmt::format("{} reported no timeout, but the others did: look there first",
                      base::name_ranks(silent)));
  }
  if (diagnosis.unexplained)
    diagnosis.remarks.push_back(fmt::format(
        "this log does not contain the first failure: look at the logs of the other ranks and "
        "hosts{}",
        findings.nccl_tells ? "" : ", and run again with NCCL_DEBUG=INFO on all ranks"));
  remark_on_ways(findings, diagnosis);
}

// On one host, as far as the lines show; unknown without a clock.
bool is_soon_after(const LogEvidence& first, const LogEvidence& second) {
  if (!first.time || !second.time || first.time->kind != second.time->kind ||
      first.host != second.host)
    return false;
  double later_s = second.time->seconds - first.time->seconds;
  return later_s >= 0 && later_s <= k_soon_s;
}

bool explains(const LogProblem& problem, const LogProblem& other) {
  auto has = [&](const std::vector<std::string>& ids) {
    return std::ranges::find(ids, other.cause->id) != ids.end();
  };
  if (has(problem.cause->leads_to) && is_soon_after(earliest(problem), earliest(other)))
    return true;
  return (problem.certain || other.cause->role == CauseRole::secondary) &&
         has(problem.cause->explains);
}

// A consequence of another observed cause is not a cause.
void part_consequences_from_causes(LogDiagnosis& diagnosis) {
  const std::vector<const LogProblem*> all = diagnosis.causes;
  bool certain_fault = std::ranges::any_of(all, [](const LogProblem* one) {
    return one->certain && one->severity == CauseSeverity::fail &&
           one->cause->role == CauseRole::cause;
  });
  auto follows = [&](const LogProblem* one) {
    if (one->cause->role == CauseRole::secondary && certain_fault)
      return true;
    return std::ranges::any_of(all,
                               [&](const LogProblem* other) { return explains(*other, *one); });
  };
  std::ranges::copy_if(all, std::back_inserter(diagnosis.consequences), follows);
  std::erase_if(diagnosis.causes, follows);
}

// If something failed, a mere warning is not the reason.
void part_warnings_from_causes(LogDiagnosis& diagnosis) {
  auto is_fault = [](const LogProblem* one) { return one->severity == CauseSeverity::fail; };
  bool failed = !diagnosis.wrappers.empty() || !diagnosis.consequences.empty() ||
                std::ranges::any_of(diagnosis.causes, is_fault);
  if (!failed)
    return;
  auto warnings = std::stable_partition(diagnosis.causes.begin(), diagnosis.causes.end(), is_fault);
  diagnosis.notes.insert(diagnosis.notes.end(), warnings, diagnosis.causes.end());
  diagnosis.causes.erase(warnings, diagnosis.causes.end());
}

// A failure was seen, but no possible root cause.
bool lacks_first_failure(const LogDiagnosis& diagnosis) {
  bool any_first = std::ranges::any_of(diagnosis.causes, [](const LogProblem* one) {
    return one->severity == CauseSeverity::fail && one->cause->role == CauseRole::cause;
  });
  bool any_secondary = std::ranges::any_of(diagnosis.causes, [](const LogProblem* one) {
    return one->cause->role == CauseRole::secondary;
  });
  return !any_first &&
         (any_secondary || !diagnosis.wrappers.empty() || !diagnosis.consequences.empty());
}

} // namespace

LogDiagnosis diagnose(const LogFindings& findings) {
  LogDiagnosis diagnosis;
  // Messages that a program contains or a document quotes did not happen; whether all was well is
  // unknown.
  if (findings.bytes == 0 || !findings.is_text() || !findings.document.empty()) {
    diagnosis.severity = CauseSeverity::warn;
    return diagnosis;
  }
  for (const LogProblem& one : findings.problems) {
    if (one.severity == CauseSeverity::info)
      diagnosis.notes.push_back(&one);
    else if (one.cause->role == CauseRole::wrapper)
      diagnosis.wrappers.push_back(&one);
    else if (one.cause->role == CauseRole::consequence)
      diagnosis.consequences.push_back(&one);
    else
      diagnosis.causes.push_back(&one);
    diagnosis.severity = std::max(diagnosis.severity, one.weight());
  }
  part_consequences_from_causes(diagnosis);
  part_warnings_from_causes(diagnosis);
  for (auto* list :
       {&diagnosis.causes, &diagnosis.wrappers, &diagnosis.consequences, &diagnosis.notes})
    sort_likeliest_first(*list);

  for (const UnknownError& one : findings.unknown)
    diagnosis.unknown.push_back(&one);
  // NCCL's own warnings are more informative than other lines with the word "error".
  std::stable_partition(diagnosis.unknown.begin(), diagnosis.unknown.end(),
                        [](const UnknownError* one) {
                          return one->first.text.find("NCCL WARN") != std::string::npos;
                        });
  if (diagnosis.unknown.size() > k_unknown_quoted)
    diagnosis.unknown.resize(k_unknown_quoted);
  if (!diagnosis.unknown.empty())
    diagnosis.severity = std::max(diagnosis.severity, CauseSeverity::warn);

  diagnosis.unexplained = lacks_first_failure(diagnosis);
  find_first_failure(findings, diagnosis);
  add_remarks(findings, diagnosis);
  return diagnosis;
}

} // namespace ncclprobe::analysis
