// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_report.h"

#include "base/printable.h"
#include "base/text_layout.h"
#include "knowledge/document.h"
#include "knowledge/health_codes.h"
#include "model/outcome.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <span>

namespace ncclprobe::analysis {
namespace {

using knowledge::CauseSeverity;
using knowledge::LogCause;

constexpr int k_hang = 13;
constexpr std::size_t k_causes_in_full = 3;

std::string_view severity_name(CauseSeverity severity) {
  return severity == CauseSeverity::fail   ? "fail"
         : severity == CauseSeverity::warn ? "warn"
                                           : "info";
}

// "line 12, rank 3 on host a, GPU 1, 12:00:01"
std::string place(const LogEvidence& evidence) {
  std::string text = fmt::format("line {}", evidence.line);
  if (evidence.rank)
    text += fmt::format(", rank {}", *evidence.rank);
  if (!evidence.host.empty())
    text += fmt::format("{} {}", evidence.rank ? " on" : ", host", base::printable(evidence.host));
  if (evidence.gpu)
    text += fmt::format(", GPU {}", *evidence.gpu);
  if (evidence.time)
    text += ", " + base::printable(evidence.time->text);
  return text;
}

std::string lines_text(const LogProblem& problem) {
  std::string text = fmt::format("{}{}", problem.exact ? "" : "about ",
                                 base::count_of(problem.lines, "line", "lines"));
  std::vector<int> ranks;
  for (const auto& [rank, evidence] : problem.first_of_rank)
    ranks.push_back(rank);
  if (!ranks.empty())
    text += fmt::format(", rank{} {}", ranks.size() == 1 ? "" : "s", model::format_ranks(ranks));
  return text;
}

std::string list(std::string_view title, const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items)
    out += base::paragraph(out.empty() ? title : "", item, k_hang);
  return out;
}

std::string evidence_lines(const LogProblem& problem) {
  std::string out;
  for (const LogEvidence& one : problem.first)
    out += base::paragraph(out.empty() ? "  evidence" : "", place(one) + ": " + one.text, k_hang);
  return out;
}

std::string_view title_of(const LogProblem& problem) {
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
    if (error == std::errc{} && std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      numbers.push_back(number);
  }
  return numbers;
}

// NVIDIA's catalogue entry for an Xid.
std::string xid_text(int number) {
  const knowledge::Xid* known = knowledge::xid(number);
  if (known == nullptr)
    return fmt::format("Xid {} is not in our table: look it up in NVIDIA's catalogue", number);
  std::string text = fmt::format("Xid {} ({}): {}; at once: {}", number, known->mnemonic,
                                 known->meaning, knowledge::action_text(known->immediate));
  if (!known->investigatory.empty())
    text += "; to find the reason: " + known->investigatory;
  return known->advice.empty() ? text : text + "; " + known->advice;
}

std::string in_full(const LogProblem& problem) {
  const LogCause& cause = *problem.cause;
  std::string out = base::paragraph(
      title_of(problem),
      fmt::format("{} ({}; {}) [{}]", cause.title, cause.layer, lines_text(problem), cause.id),
      k_hang);
  out += evidence_lines(problem);
  std::vector<std::string> xids;
  for (int number : xids_of(problem))
    xids.push_back(xid_text(number));
  out += list("  NVIDIA", xids);
  out += list("  because", cause.because);
  out += list(problem.certain ? "  check" : "  confirm", cause.check);
  out += list("  fix", cause.fix);
  out += list("  do not", cause.avoid);
  if (!cause.note.empty())
    out += base::paragraph("  note", cause.note, k_hang);
  bool first = true;
  for (const std::string& address : cause.sources) { // useless in parts
    out += fmt::format("{:<{}}{}\n", first ? "  source" : "", k_hang, address);
    first = false;
  }
  return out;
}

// All but the first few, which are shown in full.
std::string in_short(std::string_view title, const std::vector<const LogProblem*>& problems,
                     std::size_t shown_in_full = 0) {
  std::string out;
  for (const LogProblem* one :
       std::span(problems).subspan(std::min(shown_in_full, problems.size())))
    out += base::paragraph(out.empty() ? title : "",
                           fmt::format("{}{} ({}; first {}) [{}]", one->certain ? "" : "possibly ",
                                       one->cause->title, lines_text(*one),
                                       place(one->first.front()), one->cause->id),
                           k_hang);
  return out;
}

std::string headline(const LogFindings& findings, const LogDiagnosis& diagnosis) {
  if (!diagnosis.causes.empty()) {
    const LogProblem& first = *diagnosis.causes.front();
    std::string named = (first.certain ? "" : "possibly: ") + first.cause->title;
    if (first.severity == CauseSeverity::fail)
      return diagnosis.unexplained ? named + "; the failure before it is not in this log" : named;
    if (!diagnosis.unexplained)
      return "no failure, but a warning: " + named;
  }
  if (diagnosis.unexplained)
    return "something failed, but the first failure is unknown or not in this log";
  if (!diagnosis.unknown.empty())
    return "unknown: lines mention errors, but no known problem matches";
  if (findings.bytes == 0)
    return "unknown: the log is empty";
  if (!findings.is_text())
    return "unknown: this is not text; give the log itself, uncompressed";
  if (!findings.document.empty())
    return fmt::format("unknown: this is {}, not a log; give the log itself", findings.document);
  return "no known problem and no suspicious line";
}

nlohmann::json to_json(const LogEvidence& evidence) {
  nlohmann::json json{{"line", evidence.line}, {"text", evidence.text}};
  if (evidence.rank)
    json["rank"] = *evidence.rank;
  if (!evidence.host.empty())
    json["host"] = base::printable(evidence.host);
  if (evidence.gpu)
    json["gpu"] = *evidence.gpu;
  if (evidence.time)
    json["time"] = base::printable(evidence.time->text);
  return json;
}

nlohmann::json to_json_of_xid(int number) {
  nlohmann::json json{{"xid", number}};
  if (const knowledge::Xid* known = knowledge::xid(number)) {
    json["mnemonic"] = known->mnemonic;
    json["meaning"] = known->meaning;
    json["immediate"] = known->immediate;
    json["investigatory"] = known->investigatory;
  }
  return json;
}

nlohmann::json to_json(const std::vector<const LogProblem*>& problems) {
  nlohmann::json all = nlohmann::json::array();
  for (const LogProblem* one : problems) {
    const LogCause& cause = *one->cause;
    nlohmann::json json{{"id", cause.id},
                        {"title", cause.title},
                        {"layer", cause.layer},
                        {"severity", severity_name(one->severity)},
                        {"certain", one->certain},
                        {"lines", one->lines},
                        {"lines_exact", one->exact},
                        {"because", cause.because},
                        {"check", cause.check},
                        {"fix", cause.fix},
                        {"do_not", cause.avoid},
                        {"sources", cause.sources}};
    for (int number : xids_of(*one))
      json["xids"].push_back(to_json_of_xid(number));
    for (const LogEvidence& evidence : one->first)
      json["evidence"].push_back(to_json(evidence));
    json["ranks"] = nlohmann::json::array();
    for (const auto& [rank, evidence] : one->first_of_rank)
      json["ranks"].push_back(rank);
    all.push_back(std::move(json));
  }
  return all;
}

} // namespace

std::string render_log_diagnosis(const std::string& name, const LogFindings& findings,
                                 const LogDiagnosis& diagnosis) {
  std::string out = base::paragraph("Log",
                                    fmt::format("{}, {}, {:.1f} MB", base::printable(name),
                                                base::count_of(findings.lines, "line", "lines"),
                                                static_cast<double>(findings.bytes) / 1e6),
                                    k_hang);
  out += base::paragraph("Diagnosis", headline(findings, diagnosis), k_hang);
  if (diagnosis.first_failure) {
    const FirstFailure& first = *diagnosis.first_failure;
    std::string who = first.rank           ? fmt::format("rank {}", *first.rank)
                      : first.evidence.gpu ? fmt::format("GPU {}", *first.evidence.gpu)
                                           : "an unnamed rank";
    if (!first.host.empty())
      who += " on " + base::printable(first.host);
    out += base::paragraph("First", fmt::format("{} failed first: {}", who, first.reason), k_hang);
  }
  for (const std::string& remark : diagnosis.remarks)
    out += base::paragraph("", remark, k_hang);
  for (std::size_t i = 0; i < diagnosis.causes.size() && i < k_causes_in_full; ++i)
    out += "\n" + in_full(*diagnosis.causes[i]);
  std::string rest = in_short("Also seen", diagnosis.causes, k_causes_in_full);
  // If no cause is known, the first consequence is the best hint.
  std::size_t followers_in_full = diagnosis.causes.empty() ? 1 : 0;
  for (const auto* problems : {&diagnosis.wrappers, &diagnosis.consequences})
    for (std::size_t i = 0; i < problems->size() && i < followers_in_full; ++i)
      out += "\n" + in_full(*(*problems)[i]);
  rest += in_short("Passes on", diagnosis.wrappers, followers_in_full);
  rest += in_short("Follows", diagnosis.consequences, followers_in_full);
  rest += in_short("Notes", diagnosis.notes);
  std::string unknown;
  for (const UnknownError* one : diagnosis.unknown)
    unknown += base::paragraph(
        unknown.empty() ? "Unknown" : "",
        fmt::format("{}: {}{}", place(one->first), one->first.text,
                    one->lines > 1 ? fmt::format(" ({} such lines)", one->lines) : ""),
        k_hang);
  if (!rest.empty())
    out += "\n" + rest;
  if (!unknown.empty())
    out += "\n" + unknown;
  return out + base::paragraph("", fmt::format("(known causes as of {})", knowledge::tables_date()),
                               k_hang);
}

std::string render_log_diagnosis_json(const std::string& name, const LogFindings& findings,
                                      const LogDiagnosis& diagnosis) {
  nlohmann::json json{{"schema", "ncclprobe.log_diagnosis/2"},
                      {"log", base::printable(name)},
                      {"bytes", findings.bytes},
                      {"lines", findings.lines},
                      {"severity", severity_name(diagnosis.severity)},
                      {"diagnosis", headline(findings, diagnosis)},
                      {"unexplained", diagnosis.unexplained},
                      {"remarks", diagnosis.remarks},
                      {"tables_date", knowledge::tables_date()},
                      {"causes", to_json(diagnosis.causes)},
                      {"wrappers", to_json(diagnosis.wrappers)},
                      {"consequences", to_json(diagnosis.consequences)},
                      {"notes", to_json(diagnosis.notes)}};
  json["unknown"] = nlohmann::json::array();
  for (const UnknownError* one : diagnosis.unknown) {
    nlohmann::json line = to_json(one->first);
    line["lines"] = one->lines;
    json["unknown"].push_back(std::move(line));
  }
  json["first_failure"] = nullptr;
  if (diagnosis.first_failure) {
    nlohmann::json first{{"reason", diagnosis.first_failure->reason},
                         {"evidence", to_json(diagnosis.first_failure->evidence)}};
    if (diagnosis.first_failure->rank)
      first["rank"] = *diagnosis.first_failure->rank;
    if (!diagnosis.first_failure->host.empty())
      first["host"] = base::printable(diagnosis.first_failure->host);
    json["first_failure"] = std::move(first);
  }
  // Logs contain any bytes; JSON needs UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
