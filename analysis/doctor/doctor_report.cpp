// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/doctor_report.h"

#include "analysis/doctor/diagnosis.h"
#include "analysis/doctor/explanations.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/installed_libraries.h"
#include "analysis/topology_chart/topology_chart.h"
#include "base/name_ranks.h"
#include "base/text_layout.h"
#include "knowledge/document.h"
#include "model/document.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::doctor {
namespace {

// Lines of evidence of a finding. Those of a failure hold the workers' last output.
constexpr std::size_t k_most_evidence = 5;
constexpr std::size_t k_most_evidence_of_failure = 12;
constexpr std::size_t k_most_ranks = 16;
constexpr int k_detail_hang = 17; // of what is known about a finding

std::string where(const CheckResult& finding, int ranks, std::size_t hosts) {
  std::string text;
  if (!finding.ranks.empty() && static_cast<int>(finding.ranks.size()) < ranks)
    text = base::name_ranks(finding.ranks);
  if (!finding.hosts.empty() && finding.hosts.size() < hosts)
    text += (text.empty() ? "" : " on ") + base::join(finding.hosts, ", ");
  return text.empty() ? "" : " [" + text + "]";
}

std::string word_of(CheckStatus status) {
  return status == CheckStatus::fail   ? "FAIL"
         : status == CheckStatus::warn ? "WARN"
                                       : std::string(to_string(status));
}

// Evidence may contain lines of a worker's output.
std::vector<std::string> evidence_lines(const CheckResult& finding) {
  std::vector<std::string> seen = finding.evidence;
  std::erase(seen, "");
  const std::size_t most =
      finding.status == CheckStatus::fail ? k_most_evidence_of_failure : k_most_evidence;
  if (seen.size() > most) {
    const std::size_t more = seen.size() - (most - 1);
    seen.resize(most - 1);
    seen.push_back(fmt::format("and {} more (all in --format json)", more));
  }
  std::vector<std::string> lines;
  for (const std::string& one : seen)
    for (std::size_t at = 0; at < one.size();) {
      const std::size_t end = std::min(one.find('\n', at), one.size());
      if (end > at)
        lines.push_back(one.substr(at, end - at));
      at = end + 1;
    }
  return lines;
}

void add_finding(const CheckResult& finding, int ranks, std::size_t hosts, Section& to) {
  to.add(fmt::format("{:<8}{}", word_of(finding.status), finding.id),
         fmt::format("{}: {}{}", check_name(finding.id), finding.what.text,
                     where(finding, ranks, hosts)),
         12);
  if (finding.status == CheckStatus::ok) // its evidence is in the JSON
    return;
  to.add_each("          seen", evidence_lines(finding), k_detail_hang);
  if (finding.follows_from)
    to.add("          why", "caused by " + in_words(*finding.follows_from), k_detail_hang);
  else if (!finding.may_be_of.empty())
    to.add("          why", "possibly caused by " + in_words(finding.may_be_of), k_detail_hang);
  if (!finding.cost.text.empty())
    to.add("          costs", finding.cost.text, k_detail_hang);
  if (!finding.fix.text.empty())
    to.add("          fix", finding.fix.text, k_detail_hang);
}

TablePtr finding_table(const std::vector<CheckResult>& findings) {
  TableOf<CheckResult> table(findings);
  table.add_fields();
  table.add("kind", [](const CheckResult& one) { return one.what.kind; });
  table.add("what", [](const CheckResult& one) { return one.what.text; });
  table.add("values", [](const CheckResult& one) { return one.what.values; }).nested();
  table.add("check", [](const CheckResult& one) { return check_name(one.id); });
  return table.table();
}

TablePtr chain_table(const Case& one) {
  TableOf<ChainLink> table(software_chain(one));
  table.add_fields();
  table.show_left("part", &ChainLink::part);
  table.show_left("version",
                  [](const auto& link) { return link.problem.empty() ? link.version : "missing"; });
  table.show_left("loaded from",
                  [](const auto& link) { return link.problem.empty() ? link.path : ""; });
  table.show_left("ranks", [all = one.ranks()](const auto& link) {
    return static_cast<int>(link.ranks.size()) >= all ? "all" : model::format_ranks(link.ranks);
  });
  return table.table();
}

// The GPU of each rank: rank r on a host uses the r-th GPU that it sees.
struct RankGpu {
  int rank = 0;
  std::string host;
  std::string boot_id;
  std::optional<model::CudaDevice> gpu;
};

std::vector<RankGpu> rank_gpus(const Case& one) {
  std::map<model::HostInventory::Identity, std::size_t> taken; // GPUs, by host
  std::vector<RankGpu> all;
  for (const model::Survey& survey : one.surveys)
    for (int rank : survey.ranks) {
      const std::vector<model::CudaDevice>& gpus = survey.inventory.gpus;
      const std::size_t place = taken[survey.inventory.identity()]++;
      all.push_back({rank, survey.inventory.hostname, survey.inventory.boot_id,
                     place < gpus.size() ? std::optional(gpus[place]) : std::nullopt});
    }
  std::ranges::sort(all, {}, &RankGpu::rank);
  return all;
}

Section rank_section(const Case& one) {
  TableOf<RankGpu> table(rank_gpus(one));
  if (std::ranges::none_of(table.rows(), [](const RankGpu& row) { return row.gpu.has_value(); }))
    return {"ranks"};
  table.show("rank", &RankGpu::rank);
  table.show_left("host", &RankGpu::host);
  table.show("GPU",
             [](const auto& row) { return row.gpu ? Value(row.gpu->index) : Value("none"); });
  table.show_left("PCI id", [](const auto& row) { return row.gpu ? row.gpu->pci_bus_id : ""; });
  table.show_left("UUID", [](const auto& row) { return row.gpu ? row.gpu->uuid : ""; });
  return {.key = "ranks",
          .blocks = {View{.table = table.table(), .most_rows = k_most_ranks}},
          .part = Section::Part::provenance};
}

// Apart from the chain: files on a disk do not run.
TablePtr installed_table(const Case& one, std::size_t hosts) {
  TableOf<NotLoaded> table(not_loaded(one));
  auto part = [](const auto& each) { return part_of(*each.library); };
  auto version = [](const auto& each) { return each.library->version; };
  auto path = [](const auto& each) { return each.library->path; };
  auto found_by = [](const auto& each) { return each.library->found_by; };
  table.add("part", part);
  table.add("version", version);
  table.add("path", path);
  table.add("found_by", found_by);
  table.add("host", &NotLoaded::host);
  table.show_left("installed, not loaded", [=](const auto& each) {
    return part(each) + (hosts > 1 ? " on " + each.host : "");
  });
  table.show_left("version", [=](const auto& each) {
    return version(each).empty() ? "unknown" : version(each);
  });
  table.show_left("file", path);
  table.show_left("found by", found_by);
  return table.table();
}

Section diagnosis_section(const Diagnosis& diagnosis) {
  constexpr int k_hang = 5;
  Section section{"diagnosis", "Diagnosis"};
  int number = 0;
  for (const Step& step : diagnosis.steps)
    section.add(fmt::format("  {}.", ++number),
                fmt::format("{} {}{}", step.question, to_string(step.answer),
                            step.because.empty() ? "" : ": " + step.because),
                k_hang);
  section.add("  =>", diagnosis.conclusion, k_hang);
  return section;
}

// The worst result with a fix that follows from no other; of equal ones the first.
const CheckResult* first_to_repair(const std::vector<CheckResult>& results) {
  const CheckResult* first = nullptr;
  for (const CheckResult& one : results)
    if (one.status >= CheckStatus::warn && !one.fix.text.empty() && !one.follows_from &&
        (first == nullptr || one.status > first->status))
      first = &one;
  return first;
}

// The last section on a terminal, and the first one on a page.
Section answer_section(const Case& one, const std::vector<CheckResult>& results,
                       const Diagnosis& diagnosis, const Object& count) {
  constexpr int k_hang = 12;
  Section section{.key = "answer", .part = Section::Part::answer};
  section.add("Conclusion", diagnosis.conclusion, k_hang);
  if (const CheckResult* first = first_to_repair(results)) {
    section.add("Do first",
                fmt::format("{} {}{}", first->id, first->what.text,
                            where(*first, one.ranks(), static_cast<std::size_t>(count_hosts(one)))),
                k_hang);
    section.add("", first->fix.text, k_hang);
  }
  std::vector<std::string> numbers;
  for (auto each = count.rbegin(); each != count.rend(); ++each) // worst first
    numbers.push_back(shown(each->second) + " " + each->first);
  section.add("Findings",
              fmt::format("{}: {}", to_string(worst(results)), base::join(numbers, ", ")), k_hang);
  section.add("", "Tables of " + knowledge::tables_are_of(), k_hang);
  return section;
}

// Each host with its ranks beside their GPUs.
std::vector<Chart> host_charts(const Case& one) {
  std::vector<model::HostInventory::Identity> seen;
  std::vector<PicturedHost> hosts;
  for (const model::Survey& survey : one.surveys)
    if (const auto host = survey.inventory.identity(); !std::ranges::count(seen, host)) {
      seen.push_back(host);
      hosts.push_back({survey.inventory.topology, {}});
    }
  for (const RankGpu& rank : rank_gpus(one)) {
    const auto at = std::ranges::find(seen, std::pair(rank.host, rank.boot_id)) - seen.begin();
    PicturedHost& host = hosts[static_cast<std::size_t>(at)];
    if (const topology::Gpu* gpu = rank.gpu ? host.host.gpu_at(rank.gpu->pci_bus_id) : nullptr)
      host.ranks[gpu->index].push_back(rank.rank);
  }
  return topology_charts(hosts);
}

Object counts(const std::vector<CheckResult>& findings) {
  Object all;
  for (const auto& [status, name] : base::enum_names(CheckStatus{}))
    all.emplace_back(name, std::ranges::count(findings, status, &CheckResult::status));
  return all;
}

} // namespace

Report doctor_report(const Case& one, const std::vector<CheckResult>& findings) {
  const auto hosts = static_cast<std::size_t>(count_hosts(one));
  const Diagnosis diagnosis = diagnose(one, findings);
  const TablePtr chain = chain_table(one), installed = installed_table(one, hosts);
  const Object count = counts(findings);
  Report report;
  report.rows = finding_table(findings);
  report.data = {{"schema", "ncclprobe.doctor"},
                 {"schema_version", 2},
                 {"worst", worst(findings)},
                 {"tables_date", knowledge::tables_date()},
                 {"counts", count},
                 {"chain", chain},
                 {"installed_not_loaded", installed},
                 {"diagnosis", diagnosis},
                 {"findings", report.rows},
                 {"case", one}};
  const std::string job =
      fmt::format("{} on {}, {} backend",
                  base::count_of(static_cast<std::size_t>(one.ranks()), "rank", "ranks"),
                  base::count_of(hosts, "host", "hosts"), one.backend.empty() ? "no" : one.backend);
  report.title = "Examination of " + job;
  constexpr auto k_provenance = Section::Part::provenance;
  report.sections = {{.key = "heading",
                      .title = fmt::format("ncclprobe doctor {}: {}", one.ncclprobe, job),
                      .part = k_provenance,
                      .charts = host_charts(one)},
                     {.key = "software", .blocks = {View{chain}}, .part = k_provenance}};
  if (installed->rows > 0)
    report.sections.push_back(
        {.key = "installed", .blocks = {View{installed}}, .part = k_provenance});
  Section found{"findings", "Findings, worst first"};
  for (const CheckResult& finding : findings)
    add_finding(finding, one.ranks(), hosts, found);
  report.sections.insert(report.sections.end(),
                         {rank_section(one), diagnosis_section(diagnosis), std::move(found),
                          answer_section(one, findings, diagnosis, count)});
  return report;
}

} // namespace ncclprobe::analysis::doctor
