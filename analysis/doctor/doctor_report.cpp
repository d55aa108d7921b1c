// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/doctor_report.h"

#include "analysis/doctor/diagnosis.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/installed_libraries.h"
#include "base/text_table.h"
#include "knowledge/document.h"
#include "model/document.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::doctor {
namespace {

constexpr std::size_t k_width = 110;
// Lines of evidence of a finding. Those of a failure hold the workers' last output.
constexpr std::size_t k_most_evidence = 5;
constexpr std::size_t k_most_evidence_of_failure = 12;

// The words of `text` after `label`; later lines are indented to it.
std::string paragraph(const std::string& label, const std::string& text) {
  std::string out;
  std::string line = label;
  std::size_t indent = label.size();
  bool fresh = true;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (!fresh && line.size() + 1 + word.size() > k_width) {
      out += line + "\n";
      line = std::string(indent, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
    fresh = false;
    at = end + 1;
  }
  return out + line + "\n";
}

// Evidence may contain lines of a worker's output.
std::string lines_behind(std::string label, const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at)
      out += paragraph(label, text.substr(at, end - at));
    label = std::string(label.size(), ' ');
    at = end + 1;
  }
  return out;
}

std::string where(const Finding& finding, int ranks, std::size_t hosts) {
  std::string text;
  bool all_ranks = static_cast<int>(finding.ranks.size()) >= ranks;
  if (!finding.ranks.empty() && !all_ranks)
    text = fmt::format("rank{} {}", finding.ranks.size() == 1 ? "" : "s",
                       model::format_ranks(finding.ranks));
  if (!finding.hosts.empty() && finding.hosts.size() < hosts) {
    text += text.empty() ? "" : " on ";
    for (std::size_t i = 0; i < finding.hosts.size(); ++i)
      text += (i == 0 ? "" : ", ") + finding.hosts[i];
  }
  return text;
}

std::string word_of(Severity severity) {
  switch (severity) {
  case Severity::fail:
    return "FAIL";
  case Severity::warn:
    return "WARN";
  default:
    return std::string(to_string(severity));
  }
}

std::string render_finding(const Finding& finding, int ranks, std::size_t hosts) {
  std::string place = where(finding, ranks, hosts);
  std::string out = paragraph(fmt::format("{:<8}{} ", word_of(finding.severity), finding.id),
                              fmt::format("{}: {}{}", check_name(finding.id), finding.what,
                                          place.empty() ? "" : " [" + place + "]"));
  if (finding.severity == Severity::ok) // its evidence is in the JSON
    return out;
  std::vector<std::string> seen = finding.evidence;
  std::erase(seen, "");
  std::size_t most =
      finding.severity == Severity::fail ? k_most_evidence_of_failure : k_most_evidence;
  if (seen.size() > most) {
    std::size_t more = seen.size() - (most - 1);
    seen.resize(most - 1);
    seen.push_back(fmt::format("and {} more (all in --format json)", more));
  }
  const char* label = "          seen   ";
  for (const std::string& one : seen)
    out += lines_behind(std::exchange(label, "                 "), one);
  if (!finding.follows_from.empty())
    out += paragraph("          why    ", "follows from " + finding.follows_from);
  else if (!finding.may_be_of.empty())
    out += paragraph("          why    ", fmt::format("possibly caused by {}",
                                                      fmt::join(finding.may_be_of, ", or of ")));
  if (!finding.cost.empty())
    out += paragraph("          costs  ", finding.cost);
  if (!finding.fix.empty())
    out += paragraph("          fix    ", finding.fix);
  return out;
}

std::string render_chain(const Case& one) {
  base::TextTable table({{"part", base::TextTable::Align::left},
                         {"version", base::TextTable::Align::left},
                         {"really loaded from", base::TextTable::Align::left},
                         {"ranks", base::TextTable::Align::left}});
  for (const ChainLink& link : software_chain(one)) {
    bool there = link.problem.empty();
    bool all = static_cast<int>(link.ranks.size()) >= one.ranks();
    table.add_row({link.part, there ? link.version : "not there", there ? link.path : "",
                   all ? "all" : model::format_ranks(link.ranks)});
  }
  return table.render(2);
}

// The GPU of each rank: rank r on a host uses the r-th GPU that it sees.
std::string render_ranks(const Case& one) {
  constexpr std::size_t k_most_ranks = 16;
  base::TextTable table({{"rank"},
                         {"host", base::TextTable::Align::left},
                         {"GPU"},
                         {"PCI id", base::TextTable::Align::left},
                         {"UUID", base::TextTable::Align::left}});
  std::map<std::string, std::size_t> taken; // GPUs, by host
  std::map<int, std::vector<std::string>> rows;
  bool any = false;
  for (const model::Survey& survey : one.surveys)
    for (int rank : survey.ranks) {
      const std::vector<model::Gpu>& gpus = survey.inventory.gpus;
      std::size_t place = taken[survey.inventory.boot_id]++;
      std::vector<std::string>& row = rows[rank];
      row = {std::to_string(rank), survey.inventory.hostname, "none"};
      if (place >= gpus.size())
        continue;
      any = true;
      row = {std::to_string(rank), survey.inventory.hostname, std::to_string(gpus[place].index),
             gpus[place].pci_bus_id, gpus[place].uuid};
    }
  if (!any)
    return "";
  std::size_t shown = 0;
  for (auto& [rank, row] : rows)
    if (shown++ < k_most_ranks)
      table.add_row(std::move(row));
  std::string more =
      rows.size() > k_most_ranks
          ? fmt::format("  and {} more (all in --format json)\n", rows.size() - k_most_ranks)
          : "";
  return "\n" + table.render(2) + more;
}

// Apart from the chain: files on a disk do not run.
std::string render_installed(const Case& one, std::size_t hosts) {
  const std::vector<NotLoaded> found = not_loaded(one);
  if (found.empty())
    return "";
  base::TextTable table({{"installed, not loaded", base::TextTable::Align::left},
                         {"version", base::TextTable::Align::left},
                         {"file", base::TextTable::Align::left},
                         {"found by", base::TextTable::Align::left}});
  for (const NotLoaded& each : found)
    table.add_row({hosts > 1 ? fmt::format("{} on {}", part_of(*each.library), each.host)
                             : part_of(*each.library),
                   each.library->version.empty() ? "unknown" : each.library->version,
                   each.library->path, each.library->found_by});
  return "\n" + table.render(2);
}

std::string render_diagnosis(const Diagnosis& diagnosis) {
  std::string out;
  int number = 0;
  for (const Step& step : diagnosis.steps)
    out += paragraph(fmt::format("  {}. ", ++number),
                     fmt::format("{} {}{}", step.question, to_string(step.answer),
                                 step.because.empty() ? "" : ": " + step.because));
  return out + paragraph("  => ", diagnosis.conclusion);
}

std::map<Severity, int> count(const std::vector<Finding>& findings) {
  std::map<Severity, int> counts;
  for (const Finding& one : findings)
    ++counts[one.severity];
  return counts;
}

std::string summary(const std::vector<Finding>& findings) {
  auto counts = count(findings);
  return fmt::format("{}: {} fail, {} warn, {} unknown, {} info, {} ok", to_string(worst(findings)),
                     counts[Severity::fail], counts[Severity::warn], counts[Severity::unknown],
                     counts[Severity::info], counts[Severity::ok]);
}

nlohmann::json json_of(const Finding& finding) {
  return {{"id", finding.id},
          {"check", check_name(finding.id)},
          {"severity", to_string(finding.severity)},
          {"what", finding.what},
          {"evidence", finding.evidence},
          {"cost", finding.cost},
          {"fix", finding.fix},
          {"follows_from", finding.follows_from},
          {"may_be_of", finding.may_be_of},
          {"ranks", finding.ranks},
          {"hosts", finding.hosts}};
}

} // namespace

std::string render_text(const Case& one, const std::vector<Finding>& findings) {
  auto hosts = static_cast<std::size_t>(count_hosts(one));
  std::string out = fmt::format("ncclprobe doctor {}: {} rank{} on {} host{}, {} backend\n\n",
                                one.ncclprobe, one.ranks(), one.ranks() == 1 ? "" : "s", hosts,
                                hosts == 1 ? "" : "s", one.backend.empty() ? "no" : one.backend);
  out += render_chain(one) + render_installed(one, hosts) + render_ranks(one);
  out += "\nDiagnosis\n" + render_diagnosis(diagnose(one, findings)) + "\n";
  for (const Finding& finding : findings)
    out += render_finding(finding, one.ranks(), hosts);
  return out + "\n" + summary(findings) + "\nTables of " + knowledge::tables_are_of() + "\n";
}

std::string render_json(const Case& one, const std::vector<Finding>& findings) {
  nlohmann::json out{{"schema", "ncclprobe.doctor"},
                     {"schema_version", 1},
                     {"worst", to_string(worst(findings))},
                     {"tables_date", knowledge::tables_date()}};
  out["counts"] = nlohmann::json::object();
  for (const auto& [severity, name] : enum_names(Severity{}))
    out["counts"][std::string(name)] = count(findings)[severity];
  out["chain"] = nlohmann::json::array();
  for (const ChainLink& link : software_chain(one))
    out["chain"].push_back({{"part", link.part},
                            {"version", link.version},
                            {"path", link.path},
                            {"problem", link.problem},
                            {"ranks", link.ranks}});
  out["installed_not_loaded"] = nlohmann::json::array();
  for (const NotLoaded& each : not_loaded(one))
    out["installed_not_loaded"].push_back({{"part", part_of(*each.library)},
                                           {"version", each.library->version},
                                           {"path", each.library->path},
                                           {"found_by", each.library->found_by},
                                           {"host", each.host}});
  Diagnosis diagnosis = diagnose(one, findings);
  out["diagnosis"] = {{"steps", nlohmann::json::array()}, {"conclusion", diagnosis.conclusion}};
  for (const Step& step : diagnosis.steps)
    out["diagnosis"]["steps"].push_back({{"question", step.question},
                                         {"answer", to_string(step.answer)},
                                         {"because", step.because}});
  out["findings"] = nlohmann::json::array();
  for (const Finding& finding : findings)
    out["findings"].push_back(json_of(finding));
  out["case"] = base::json_tree(base::writable(one));
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis::doctor
