// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_report.h"

#include "base/name_ranks.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "knowledge/document.h"
#include "knowledge/health_codes.h"
#include "model/outcome.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace ncclprobe::analysis {
namespace {

using knowledge::CauseSeverity;
using knowledge::LogCause;
using Problems = std::vector<const LogProblem*>;

constexpr int k_hang = 13;
constexpr std::size_t k_causes_in_full = 3;

// The conclusion from the whole log.
constexpr FindingKind k_cause{"cause", Severity::error, "{title}"},
    k_late_cause{"cause_after_first_failure", Severity::error,
                 "{title}; the failure before it is not in this log"},
    k_warning{"warning", Severity::warning, "no failure, but a warning: {title}"},
    k_unexplained{"unexplained", Severity::error,
                  "something failed, but the first failure is unknown or not in this log"},
    k_unknown_errors{"unknown_errors", Severity::note,
                     "unknown: lines mention errors, but no known problem matches"},
    k_empty{"empty_log", Severity::note, "unknown: the log is empty"},
    k_not_text{"not_text", Severity::note,
               "unknown: this is not text; give the log itself, uncompressed"},
    k_not_log{"not_a_log", Severity::note,
              "unknown: this is {document}, not a log; give the log itself"},
    k_nothing{"nothing_found", Severity::note, "no known problem and no suspicious line"};

Finding verdict(const LogFindings& findings, const LogDiagnosis& diagnosis) {
  if (!diagnosis.causes.empty()) {
    const LogProblem& first = *diagnosis.causes.front();
    const Object values{{"id", first.cause->id},
                        {"certain", first.certain},
                        {"title", (first.certain ? "" : "possibly: ") + first.cause->title}};
    if (first.severity == CauseSeverity::fail)
      return {diagnosis.unexplained ? &k_late_cause : &k_cause, values};
    if (!diagnosis.unexplained)
      return {&k_warning, values};
  }
  if (diagnosis.unexplained || !diagnosis.unknown.empty())
    return {diagnosis.unexplained ? &k_unexplained : &k_unknown_errors};
  if (findings.bytes > 0 && findings.is_text() && !findings.document.empty())
    return {&k_not_log, {{"document", findings.document}}};
  return {findings.bytes == 0 ? &k_empty : !findings.is_text() ? &k_not_text : &k_nothing};
}

// "line 12, rank 3 on host a, GPU 1, 12:00:01"
std::string place(const LogEvidence& evidence) {
  std::string text = fmt::format("line {}", evidence.line);
  if (evidence.rank)
    text += fmt::format(", rank {}", *evidence.rank);
  if (!evidence.host.empty())
    text += fmt::format("{} {}", evidence.rank ? " on" : ", host", evidence.host);
  if (evidence.gpu)
    text += fmt::format(", GPU {}", *evidence.gpu);
  if (evidence.time)
    text += ", " + evidence.time->text;
  return text;
}

std::vector<int> ranks_of(const LogProblem& problem) {
  std::vector<int> ranks;
  for (const auto& [rank, evidence] : problem.first_of_rank)
    ranks.push_back(rank);
  return ranks;
}

std::string lines_text(const LogProblem& problem) {
  std::string text = fmt::format("{}{}", problem.exact ? "" : "about ",
                                 base::count_of(problem.lines, "line", "lines"));
  if (const std::vector<int> ranks = ranks_of(problem); !ranks.empty())
    text += ", " + base::name_ranks(ranks);
  return text;
}

const char* title_of(const LogProblem& problem) {
  switch (problem.cause->role) {
  case knowledge::CauseRole::wrapper:
    return "Passes on";
  case knowledge::CauseRole::consequence:
    return "Follows";
  case knowledge::CauseRole::cause:
  case knowledge::CauseRole::secondary:
    break;
  }
  if (!problem.certain)
    return "Possibly";
  return problem.severity == CauseSeverity::warn ? "Warning" : "Cause";
}

// For the lines stored as evidence.
std::vector<int> xids_of(const LogProblem& problem) {
  constexpr std::string_view k_mark = "Xid (";
  std::vector<int> numbers;
  for (const LogEvidence& one : problem.first) {
    std::string_view text = one.text;
    std::size_t at = text.find(k_mark);
    at = at == std::string_view::npos ? at : text.find("): ", at);
    if (at == std::string_view::npos || (at >= 1 && text.find("SXid (") != std::string_view::npos))
      continue;
    text.remove_prefix(at + 3);
    int number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && std::ranges::find(numbers, number) == numbers.end())
      numbers.push_back(number);
  }
  return numbers;
}

// NVIDIA's catalogue entry for an Xid.
std::string xid_text(int number) {
  const knowledge::XidMeaning* known = knowledge::xid(number);
  if (known == nullptr)
    return fmt::format("Xid {} is not in our table: look it up in NVIDIA's catalogue", number);
  std::string text = fmt::format("Xid {} ({}): {}; at once: {}", number, known->mnemonic,
                                 known->meaning, knowledge::action_text(known->immediate));
  if (!known->investigatory.empty())
    text += "; to find the reason: " + known->investigatory;
  return known->advice.empty() ? text : text + "; " + known->advice;
}

Section in_full(const LogProblem& problem) {
  const LogCause& cause = *problem.cause;
  Section section{"problem"};
  section.add(
      title_of(problem),
      fmt::format("{} ({}; {}) [{}]", cause.title, cause.layer, lines_text(problem), cause.id),
      k_hang);
  std::vector<std::string> evidence, xids;
  for (const LogEvidence& one : problem.first)
    evidence.push_back(place(one) + ": " + one.text);
  for (int number : xids_of(problem))
    xids.push_back(xid_text(number));
  section.add_each("  evidence", evidence, k_hang);
  section.add_each("  NVIDIA", xids, k_hang);
  section.add_each("  because", cause.because, k_hang);
  section.add_each(problem.certain ? "  check" : "  confirm", cause.check, k_hang);
  section.add_each("  fix", cause.fix, k_hang);
  section.add_each("  do not", cause.avoid, k_hang);
  if (!cause.note.empty())
    section.add("  note", cause.note, k_hang);
  section.add_each("  source", cause.sources, k_hang, true);
  return section;
}

// All but the first few, which are shown in full.
void add_in_short(std::string title, const Problems& problems, std::size_t shown_in_full,
                  Section& to) {
  std::vector<std::string> lines;
  for (const LogProblem* one :
       std::span(problems).subspan(std::min(shown_in_full, problems.size())))
    lines.push_back(fmt::format("{}{} ({}; first {}) [{}]", one->certain ? "" : "possibly ",
                                one->cause->title, lines_text(*one), place(one->first.front()),
                                one->cause->id));
  to.add_each(std::move(title), lines, k_hang);
}

Section heading(const std::string& name, const LogFindings& findings,
                const LogDiagnosis& diagnosis) {
  Section section{"log"};
  section.add("Log",
              fmt::format("{}, {}, {:.1f} MB", name,
                          base::count_of(findings.lines, "line", "lines"),
                          static_cast<double>(findings.bytes) / 1e6),
              k_hang);
  section.blocks.push_back(Findings{"Diagnosis", {verdict(findings, diagnosis)}, k_hang});
  if (diagnosis.first_failure) {
    const FirstFailure& first = *diagnosis.first_failure;
    std::string who = first.rank           ? fmt::format("rank {}", *first.rank)
                      : first.evidence.gpu ? fmt::format("GPU {}", *first.evidence.gpu)
                                           : "an unnamed rank";
    if (!first.host.empty())
      who += " on " + first.host;
    section.add("First", fmt::format("{} failed first: {}", who, first.reason), k_hang);
  }
  section.add_each("", diagnosis.remarks, k_hang);
  return section;
}

Object fields_of(const LogEvidence& evidence) {
  return {{"line", evidence.line},
          {"text", evidence.text},
          {"rank", evidence.rank},
          {"host", base::printable(evidence.host)},
          {"gpu", evidence.gpu},
          {"time", evidence.time ? Value(base::printable(evidence.time->text)) : Value()}};
}

Value xid_values(const LogProblem& problem) {
  List all;
  for (int number : xids_of(problem)) {
    const knowledge::XidMeaning* known = knowledge::xid(number);
    all.push_back(known == nullptr ? Object{{"xid", number}}
                                   : Object{{"xid", number},
                                            {"mnemonic", known->mnemonic},
                                            {"meaning", known->meaning},
                                            {"immediate", known->immediate},
                                            {"investigatory", known->investigatory}});
  }
  return all;
}

List evidence_values(const LogProblem* problem) {
  List all;
  for (const LogEvidence& evidence : problem->first)
    all.push_back(fields_of(evidence));
  return all;
}

TablePtr problem_table(const Problems& problems) {
  using Problem = const LogProblem*;
  TableOf<Problem> table(problems);
  table.add("id", [](Problem one) { return one->cause->id; });
  table.add("title", [](Problem one) { return one->cause->title; });
  table.add("layer", [](Problem one) { return one->cause->layer; });
  table.add("severity", [](Problem one) { return one->severity; });
  table.add("certain", [](Problem one) { return one->certain; });
  table.add("lines", [](Problem one) { return one->lines; });
  table.add("lines_exact", [](Problem one) { return one->exact; });
  table.add("because", [](Problem one) { return one->cause->because; });
  table.add("check", [](Problem one) { return one->cause->check; });
  table.add("fix", [](Problem one) { return one->cause->fix; });
  table.add("do_not", [](Problem one) { return one->cause->avoid; });
  table.add("sources", [](Problem one) { return one->cause->sources; });
  table.add("xids", [](Problem one) { return xid_values(*one); }).nested();
  table.add("evidence", evidence_values).nested();
  table.add("ranks", [](Problem one) { return ranks_of(*one); });
  return table.table();
}

} // namespace

Report log_report(const std::string& name, const LogFindings& findings,
                  const LogDiagnosis& diagnosis) {
  Report report{.sections = {heading(name, findings, diagnosis)}};
  for (std::size_t i = 0; i < diagnosis.causes.size() && i < k_causes_in_full; ++i)
    report.sections.push_back(in_full(*diagnosis.causes[i]));
  // If no cause is known, the first consequence is the best hint.
  const std::size_t followers_in_full = diagnosis.causes.empty() ? 1 : 0;
  for (const Problems* problems : {&diagnosis.wrappers, &diagnosis.consequences})
    for (std::size_t i = 0; i < problems->size() && i < followers_in_full; ++i)
      report.sections.push_back(in_full(*(*problems)[i]));
  Section rest{"rest"};
  add_in_short("Also seen", diagnosis.causes, k_causes_in_full, rest);
  add_in_short("Passes on", diagnosis.wrappers, followers_in_full, rest);
  add_in_short("Follows", diagnosis.consequences, followers_in_full, rest);
  add_in_short("Notes", diagnosis.notes, 0, rest);
  if (!rest.blocks.empty())
    report.sections.push_back(std::move(rest));
  std::vector<std::string> unknown;
  List unknown_lines;
  for (const UnknownError* one : diagnosis.unknown) {
    unknown.push_back(
        fmt::format("{}: {}{}", place(one->first), one->first.text,
                    one->lines > 1 ? fmt::format(" ({} such lines)", one->lines) : ""));
    Object line = fields_of(one->first);
    line.emplace_back("lines", one->lines);
    unknown_lines.push_back(std::move(line));
  }
  if (!unknown.empty())
    report.sections.push_back({"unknown"});
  report.sections.back().add_each("Unknown", unknown, k_hang);
  report.sections.back().add("", fmt::format("(known causes as of {})", knowledge::tables_date()),
                             k_hang);

  Problems all = diagnosis.causes;
  for (const Problems* more : {&diagnosis.wrappers, &diagnosis.consequences, &diagnosis.notes})
    all.insert(all.end(), more->begin(), more->end());
  report.rows = problem_table(all);
  Value first_failure;
  if (const auto& first = diagnosis.first_failure)
    first_failure = Object{{"reason", first->reason},
                           {"evidence", fields_of(first->evidence)},
                           {"rank", first->rank},
                           {"host", base::printable(first->host)}};
  report.data = {{"schema", "ncclprobe.log_diagnosis"},
                 {"schema_version", 3},
                 {"log", base::printable(name)},
                 {"bytes", findings.bytes},
                 {"lines", findings.lines},
                 {"severity", diagnosis.severity},
                 {"diagnosis", in_words(verdict(findings, diagnosis))},
                 {"unexplained", diagnosis.unexplained},
                 {"remarks", diagnosis.remarks},
                 {"tables_date", knowledge::tables_date()},
                 {"causes", problem_table(diagnosis.causes)},
                 {"wrappers", problem_table(diagnosis.wrappers)},
                 {"consequences", problem_table(diagnosis.consequences)},
                 {"notes", problem_table(diagnosis.notes)},
                 {"unknown", std::move(unknown_lines)},
                 {"first_failure", std::move(first_failure)}};
  return report;
}

} // namespace ncclprobe::analysis
