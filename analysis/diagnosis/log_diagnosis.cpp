// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_diagnosis.h"

#include "analysis/report/text_layout.h"
#include "model/outcome.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::ErrorRole;
using knowledge::Severity;

constexpr std::size_t k_unknown_quoted = 8;

// By the clock if both lines have the same kind of one, else by their order in the log. Lines of
// many ranks come in buffers, so that the clock is the better witness.
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

// Expressions that name the problem come before those that fit others, faults before warnings.
int weight(const LogProblem& problem) {
  int severity = problem.entry->severity == Severity::fail ? 2 : 1;
  return (problem.weak ? 0 : 10) + severity;
}

void sort_likeliest_first(std::vector<const LogProblem*>& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const LogProblem* a, const LogProblem* b) {
    if (weight(*a) != weight(*b))
      return weight(*a) > weight(*b);
    return earlier(earliest(*a), earliest(*b));
  });
}

std::string place_of(const LogEvidence& evidence) {
  if (evidence.time)
    return fmt::format("line {} ({}) is the earliest", evidence.line, evidence.time->text);
  return fmt::format("line {} is the earliest", evidence.line);
}

// Ranks that have started fewer collectives than others: they are the ones that the others wait
// for.
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

// Ranks of the world that no line of a problem is from.
std::vector<int> silent_ranks(const LogFindings& findings, const LogProblem& problem) {
  std::vector<int> silent;
  for (int rank = 0; rank < findings.world_size && findings.world_size <= 65536; ++rank)
    if (problem.first_of_rank.count(rank) == 0)
      silent.push_back(rank);
  return silent;
}

std::optional<FirstFailure> from_lines(const std::vector<const LogProblem*>& problems) {
  const LogEvidence* first = nullptr;
  for (const LogProblem* one : problems)
    if (const LogEvidence& candidate = earliest(*one);
        first == nullptr || earlier(candidate, *first))
      first = &candidate;
  if (first == nullptr)
    return std::nullopt;
  return FirstFailure{first->rank, first->host, *first, place_of(*first)};
}

void find_first_failure(const LogFindings& findings, LogDiagnosis& diagnosis) {
  std::vector<const LogProblem*> strong;
  for (const LogProblem* one : diagnosis.causes)
    if (one->entry->severity == Severity::fail)
      strong.push_back(one);
  diagnosis.first_failure = from_lines(strong);
  auto behind = ranks_behind(findings);
  if (!diagnosis.first_failure && behind.size() == 1) {
    const RankProgress& progress = findings.progress.at(behind[0]);
    diagnosis.first_failure =
        FirstFailure{behind[0], progress.evidence.host, progress.evidence,
                     fmt::format("it has started {} collectives, others more", progress.enqueued)};
  }
  if (!diagnosis.first_failure || !diagnosis.first_failure->rank)
    if (!findings.named_by_launcher.empty()) {
      const auto& [rank, evidence] = *findings.named_by_launcher.begin();
      diagnosis.first_failure =
          FirstFailure{rank, evidence.host, evidence,
                       fmt::format("torchrun names it in line {}", evidence.line)};
    }
  if (!diagnosis.first_failure)
    diagnosis.first_failure = from_lines(diagnosis.wrappers);
  if (!diagnosis.first_failure)
    diagnosis.first_failure = from_lines(diagnosis.consequences);
}

// Through host memory, or over the network although both ends are on one host: GPUs that could
// write to each other do not. Each communicator counts its ranks anew, so that of several the lines
// of two ends may be of two pairs.
bool within_a_host(const LogFindings& findings, const LogConnection& one) {
  if (one.way.starts_with("SHM/"))
    return true;
  return one.way.starts_with("NET/") &&
         (findings.nodes == 1 || (findings.one_communicator && !one.sending_host.empty() &&
                                  one.sending_host == one.receiving_host));
}

void remark_on_ways(const LogFindings& findings, LogDiagnosis& diagnosis) {
  constexpr std::size_t k_most_pairs = 8;
  for (std::string_view way : {"SHM", "NET"}) {
    std::vector<std::string> pairs;
    std::uint64_t first_line = 0;
    for (const auto& [ranks, one] : findings.indirect_connections) {
      if (!one.way.starts_with(way) || !within_a_host(findings, one))
        continue;
      pairs.push_back(fmt::format("{}->{}", ranks.first, ranks.second));
      first_line = first_line == 0 ? one.line : std::min(first_line, one.line);
    }
    if (pairs.empty())
      continue;
    std::size_t count = pairs.size();
    if (count > k_most_pairs) {
      pairs.resize(k_most_pairs);
      pairs.push_back("...");
    }
    diagnosis.remarks.push_back(fmt::format(
        "between {} of ranks on one host NCCL does not go from GPU to GPU but {}: {}; first in "
        "line {}. `ncclprobe topo` there says whether the GPUs could reach each other; "
        "NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, if set, may forbid it",
        count_of(count, "pair", "pairs"),
        way == "SHM" ? "through host memory (via SHM)" : "over the network (via NET)",
        join(pairs, ", "), first_line));
  }
}

void add_remarks(const LogFindings& findings, LogDiagnosis& diagnosis) {
  if (auto behind = ranks_behind(findings); !behind.empty())
    diagnosis.remarks.push_back(
        fmt::format("rank{} {} started fewer collectives than the others: they wait for {}",
                    behind.size() == 1 ? "" : "s", model::format_ranks(behind),
                    behind.size() == 1 ? "it" : "them"));
  for (const LogProblem* one : diagnosis.consequences) {
    if (one->entry->id != "watchdog_timeout" || one->first_of_rank.empty())
      continue;
    auto silent = silent_ranks(findings, *one);
    if (!silent.empty() && silent.size() < one->first_of_rank.size())
      diagnosis.remarks.push_back(
          fmt::format("rank{} {} reported no timeout, the others did: look there first",
                      silent.size() == 1 ? "" : "s", model::format_ranks(silent)));
  }
  if (diagnosis.unexplained)
    diagnosis.remarks.push_back(
        "what failed first is not in this log: look at the logs of the other ranks and hosts, and "
        "run again with NCCL_DEBUG=INFO on all ranks");
  remark_on_ways(findings, diagnosis);
}

} // namespace

LogDiagnosis diagnose(const LogFindings& findings) {
  LogDiagnosis diagnosis;
  // Messages that a program holds or a document quotes did not happen; nobody knows whether all was
  // well.
  if (findings.bytes == 0 || !findings.is_text() || !findings.document.empty()) {
    diagnosis.severity = Severity::warn;
    return diagnosis;
  }
  for (const LogProblem& one : findings.problems) {
    if (one.entry->severity == Severity::info)
      diagnosis.notes.push_back(&one);
    else if (one.entry->role == ErrorRole::cause)
      diagnosis.causes.push_back(&one);
    else if (one.entry->role == ErrorRole::wrapper)
      diagnosis.wrappers.push_back(&one);
    else
      diagnosis.consequences.push_back(&one);
    diagnosis.severity = std::max(diagnosis.severity, one.entry->severity);
  }
  for (auto* list :
       {&diagnosis.causes, &diagnosis.wrappers, &diagnosis.consequences, &diagnosis.notes})
    sort_likeliest_first(*list);

  for (const UnknownError& one : findings.unknown)
    diagnosis.unknown.push_back(&one);
  // NCCL's own warnings say more than any other line that has the word "error".
  std::stable_partition(diagnosis.unknown.begin(), diagnosis.unknown.end(),
                        [](const UnknownError* one) {
                          return one->first.text.find("NCCL WARN") != std::string::npos;
                        });
  if (diagnosis.unknown.size() > k_unknown_quoted)
    diagnosis.unknown.resize(k_unknown_quoted);
  if (!diagnosis.unknown.empty())
    diagnosis.severity = std::max(diagnosis.severity, Severity::warn);

  bool failed = !diagnosis.wrappers.empty() || !diagnosis.consequences.empty();
  diagnosis.unexplained = failed && diagnosis.causes.empty();
  find_first_failure(findings, diagnosis);
  add_remarks(findings, diagnosis);
  return diagnosis;
}

} // namespace ncclprobe::analysis
