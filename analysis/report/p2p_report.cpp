// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/p2p_report.h"

#include "analysis/p2p/p2p_verdict.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/outcome_section.h"
#include "analysis/report/p2p_tables.h"
#include "analysis/report/problems.h"
#include "base/described.h"
#include "model/document.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace ncclprobe::analysis {
namespace {

using model::P2pDirection;
using model::P2pEnd;
using model::P2pTransfer;

constexpr double k_ns_shown_as_us = 10'000;
constexpr int k_answer_hang = 13;

constexpr FindingKind k_links_slow{
    "links_slow", Severity::warning,
    "The links are slower than expected (medians) in {low} of {judged} with a "
    "reference value. Example: {what}: {verdict}."},
    k_links_normal{"links_normal", Severity::note,
                   "The links are as fast as expected (medians) in all {judged} with a reference "
                   "value. Example: {what}: {verdict}."},
    k_links_not_judged{"links_not_judged", Severity::note,
                       "No reference is known for these links. The fastest kind of transfer, "
                       "{what}, reaches {gb_per_s:.2f} GB/s (median over pairs)."},
    k_pairs_slow{"pairs_slow", Severity::warning,
                 "{count} slower than others of the same kind. The slowest: {worst}."},
    k_no_pair_slow{"no_pair_slow", Severity::note, "No pair is slower than others of its kind."},
    k_above_links_rate{"above_links_rate", Severity::warning,
                       "{figures} above the link's rate, so the figures or the known rates are "
                       "wrong."},
    k_examine_links{"examine_links", Severity::note,
                    "Run 'ncclprobe doctor' on that node. 'ncclprobe topo' shows the path between "
                    "its GPUs."};

const std::optional<P2pFigure>& shown_figure(const P2pMatrix& matrix, const P2pEntry& entry) {
  return matrix.direction == P2pDirection::bi ? entry.both_ways : entry.figure;
}

bool is_between_devices(const P2pTransfer& transfer) {
  return transfer.from != transfer.to && !transfer.from.host && !transfer.to.host;
}

bool with_host(const P2pMatrix& matrix) {
  return matrix.method == model::P2pMethod::host || matrix.method == model::P2pMethod::pageable;
}

// If one latency of a matrix reaches this, all are shown in microseconds.
bool in_microseconds(const P2pMatrix& matrix) {
  return matrix.latency() && std::ranges::any_of(matrix.entries, [&](const P2pEntry& entry) {
           const auto& figure = shown_figure(matrix, entry);
           return figure && figure->value >= k_ns_shown_as_us;
         });
}

std::string unit_of(const P2pMatrix& matrix) {
  return !matrix.latency() ? "GB/s" : in_microseconds(matrix) ? "us" : "ns";
}

Value figure_text(const P2pMatrix& matrix, const P2pTransfer& transfer) {
  const P2pEntry* entry = matrix.at(transfer);
  if (!entry)
    return nullptr;
  if (entry->data == DataState::wrong)
    return "WRONG";
  const auto& figure = shown_figure(matrix, *entry);
  if (!figure)
    return in_words(entry->outcome.kind);
  std::string text = in_microseconds(matrix) ? fmt::format("{:.1f}", figure->value / 1e3)
                     : matrix.latency()      ? fmt::format("{:.0f}", figure->value)
                     : figure->value >= 100  ? fmt::format("{:.1f}", figure->value)
                                             : fmt::format("{:.2f}", figure->value);
  if (auto share = figure->share())
    text += fmt::format(" {:.0f}%", 100 * *share);
  return text + (figure->beyond_limit() ? "!" : "") + (figure->outlier ? "*" : "");
}

// A line for each sender, a column for each receiver. For transfers between GPUs and their hosts, a
// line for each direction and a column for each GPU; for totals a single line.
TablePtr matrix_table(const P2pMatrix& matrix) {
  struct Line {
    std::string name;
    std::function<P2pTransfer(const P2pEnd&)> to; // the transfer in that column
  };
  std::vector<Line> lines;
  std::set<P2pEnd> from, to;
  for (const P2pEntry& entry : matrix.entries) {
    from.insert(entry.transfer.from);
    to.insert(with_host(matrix)        ? P2pEnd{false, entry.transfer.from.rank}
              : entry.transfer.to.host ? P2pEnd{true, 0}
                                       : entry.transfer.to);
  }
  if (matrix.direction == P2pDirection::together) {
    lines.push_back({"total", [](const P2pEnd& end) { return P2pTransfer{end, end}; }});
    to = from;
  } else if (with_host(matrix)) {
    const bool both = matrix.direction == P2pDirection::bi;
    if (from.rbegin()->host)
      lines.push_back({both ? "host and GPU" : "host to GPU", [](const P2pEnd& gpu) {
                         return P2pTransfer{{true, gpu.rank}, gpu};
                       }});
    if (!from.begin()->host && !both)
      lines.push_back({"GPU to host", [](const P2pEnd& gpu) {
                         return P2pTransfer{gpu, {true, gpu.rank}};
                       }});
  } else {
    for (const P2pEnd& end : from)
      lines.push_back({to_string(end), [end](const P2pEnd& other) {
                         return P2pTransfer{end, other.host ? P2pEnd{true, end.rank} : other};
                       }});
  }
  TableOf<Line> table(std::move(lines));
  auto name = table.show(" ", [](const Line& line) { return line.name; });
  if (with_host(matrix))
    name.left();
  for (const P2pEnd& end : to)
    table.show(end.host ? "host" : to_string(end),
               [&matrix, end](const Line& line) { return figure_text(matrix, line.to(end)); });
  return table.table();
}

// "at most 450 GB/s: 18 NVLinks x 25 GB/s", a line for each kind of link.
void add_limits(std::vector<Block>& blocks, const P2pMatrix& matrix) {
  std::vector<std::string> lines;
  for (const P2pEntry& entry : matrix.entries) {
    const auto& figure = shown_figure(matrix, entry);
    if (!figure || matrix.latency())
      continue;
    std::string line = figure->limit.gb_per_s
                           ? fmt::format("at most {:g} GB/s: {}", *figure->limit.gb_per_s,
                                         figure->limit.derivation)
                           : "at most: unknown, " + figure->limit.derivation;
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  for (const std::string& line : lines)
    blocks.push_back(Text{"", line, 2});
}

void add_spread(std::vector<Block>& blocks, const P2pMatrix& matrix) {
  std::vector<double> values;
  for (const P2pEntry& entry : matrix.entries)
    if (const auto& figure = shown_figure(matrix, entry);
        figure && (!matrix.latency() || is_between_devices(entry.transfer)))
      values.push_back(figure->value / (in_microseconds(matrix) ? 1e3 : 1));
  if (values.size() < 2)
    return;
  const Summary summary = summarise(values);
  blocks.push_back(
      Text{"",
           fmt::format("lowest {}, median {}, highest {} {}", format_number(summary.min),
                       format_number(summary.median), format_number(summary.max), unit_of(matrix)),
           2});
}

// Nothing for transfers that are no pairs of GPUs.
std::vector<Chart> matrix_charts(const P2pMatrix& matrix) {
  if (with_host(matrix) || matrix.direction == P2pDirection::together)
    return {};
  std::vector<const P2pEntry*> entries;
  for (const P2pEntry& entry : matrix.entries)
    if (is_between_devices(entry.transfer))
      entries.push_back(&entry);
  if (entries.size() < 2)
    return {};
  using Row = const P2pEntry*;
  TableOf<Row> table(std::move(entries));
  table.add("from", [](Row entry) { return to_string(entry->transfer.from); }).titled("from rank");
  table.add("to", [](Row entry) { return to_string(entry->transfer.to); }).titled("to rank");
  const double scale = in_microseconds(matrix) ? 1e3 : 1;
  table
      .add("value",
           [&matrix, scale](Row entry) {
             const auto& figure = shown_figure(matrix, *entry);
             return figure ? Value(six_digits(figure->value / scale)) : Value();
           })
      .titled(unit_of(matrix), {Unit::number});
  table
      .add("share_of_limit",
           [&matrix](Row entry) {
             const auto& figure = shown_figure(matrix, *entry);
             return figure ? Value(six_digits(figure->share())) : Value();
           })
      .titled("% of the link's rate", {Unit::share, 0});
  table
      .add("state",
           [&matrix](Row entry) -> Value {
             const auto& figure = shown_figure(matrix, *entry);
             return entry->data == DataState::wrong ? Value("WRONG DATA")
                    : !figure                       ? Value(in_words(entry->outcome.kind))
                    : figure->beyond_limit()        ? Value("above the link's rate")
                    : figure->outlier               ? Value("slower than others of its kind")
                                                    : Value();
           })
      .titled("state");
  return {{.kind = ChartKind::heat_map,
           .title = fmt::format("Each pair of ranks, {}", unit_of(matrix)),
           .table = table.table(),
           .x = "to",
           .y = "from",
           .state = "state",
           .value = "value"}};
}

Section matrix_section(const model::Run& run, const P2pMatrix& matrix) {
  Section section{"matrix",
                  fmt::format("{}, {}{}{}", describe(matrix), unit_of(matrix),
                              matrix.latency() ? " per hop" : "", synthetic_mark(run)),
                  {View{matrix_table(matrix)}}};
  section.charts = matrix_charts(matrix);
  add_limits(section.blocks, matrix);
  add_spread(section.blocks, matrix);
  if (auto judged = judge(run.header, matrix)) {
    section.blocks.push_back(Text{"  ", judged->text, 4});
    for (const std::string& cause : judged->verdict.causes)
      section.blocks.push_back(Text{"    - ", cause, 6});
  }
  return section;
}

struct Outlier {
  bool alone = false;      // nothing else was transferred meanwhile: it says most
  double times_slower = 1; // than others of its kind
  std::string text;
};
std::vector<Outlier> outliers(const std::vector<P2pMatrix>& matrices) {
  std::vector<Outlier> found;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      if (const auto& figure = shown_figure(matrix, entry);
          figure && figure->outlier && !is_mirrored(matrix, entry.transfer)) {
        const double ratio = figure->value / figure->class_median;
        const double times = matrix.latency() ? ratio : 1 / ratio;
        found.push_back({matrix.direction == P2pDirection::uni, times,
                         fmt::format("{}: {} {}, {} slower than others of its kind ({})",
                                     describe(matrix, entry), format_number(figure->value),
                                     matrix.latency() ? "ns" : "GB/s", percent_above(times),
                                     format_number(figure->class_median))});
      }
  return found;
}

// Are the links as fast as expected, and which pair is slow?
Section p2p_answer(const RunSummary& run, const std::vector<P2pMatrix>& matrices,
                   const std::vector<Outlier>& slow_pairs, std::size_t beyond) {
  std::size_t judged = 0;
  std::vector<std::pair<const P2pMatrix*, P2pVerdict>> low;
  std::optional<std::pair<const P2pMatrix*, P2pVerdict>> example;
  const P2pMatrix* fastest = nullptr;
  double fastest_gb_per_s = 0;
  bool can_have_outliers = false;
  for (const P2pMatrix& matrix : matrices) {
    std::vector<double> values;
    std::map<std::string, std::size_t> classes;
    for (const P2pEntry& entry : matrix.entries)
      if (const auto& figure = shown_figure(matrix, entry);
          figure && is_between_devices(entry.transfer)) {
        values.push_back(figure->value);
        can_have_outliers =
            can_have_outliers || ++classes[figure->limit.link_class] >= k_least_class;
      }
    if (!values.empty() && matrix.direction == P2pDirection::uni && !matrix.latency() &&
        median(values) > fastest_gb_per_s) {
      fastest = &matrix;
      fastest_gb_per_s = median(values);
    }
    if (auto verdict = judge(run.header, matrix)) {
      ++judged;
      if (verdict->verdict.verdict != RangeLevel::normal)
        low.emplace_back(&matrix, *verdict);
      else if (!example)
        example.emplace(&matrix, *verdict);
    }
  }
  std::vector<Finding> found;
  if (!low.empty())
    found.push_back({&k_links_slow,
                     {{"low", low.size()},
                      {"judged", count_of(judged, "kind of transfer", "kinds of transfers")},
                      {"what", describe(*low.front().first)},
                      {"verdict", low.front().second.text}}});
  if (!slow_pairs.empty())
    found.push_back({&k_pairs_slow,
                     {{"count", count_of(slow_pairs.size(), "transfer is", "transfers are")},
                      {"worst", std::ranges::max_element(slow_pairs, {}, [](const Outlier& one) {
                                  return std::pair(one.alone, one.times_slower);
                                })->text}}});
  if (beyond > 0)
    found.push_back(
        {&k_above_links_rate, {{"figures", count_of(beyond, "figure is", "figures are")}}});
  if (low.empty() && example)
    found.push_back({&k_links_normal,
                     {{"judged", count_of(judged, "kind of transfer", "kinds of transfers")},
                      {"what", describe(*example->first)},
                      {"verdict", example->second.text}}});
  else if (low.empty() && fastest)
    found.push_back(
        {&k_links_not_judged, {{"what", describe(*fastest)}, {"gb_per_s", fastest_gb_per_s}}});
  if (slow_pairs.empty() && can_have_outliers)
    found.push_back({&k_no_pair_slow, {}});
  Section section{.key = "answer", .part = Section::Part::answer};
  if (found.empty())
    return section;
  section.blocks.push_back(Findings{"Answer", std::move(found), k_answer_hang});
  if (!low.empty() && !low.front().second.verdict.causes.empty())
    section.add("Likely", low.front().second.verdict.causes.front(), k_answer_hang);
  if (!low.empty() || !slow_pairs.empty())
    section.blocks.push_back(Findings{"What to do", {{&k_examine_links, {}}}, k_answer_hang});
  return section;
}

Section list_section(std::string key, std::string title, const std::vector<std::string>& lines) {
  Section section{std::move(key)};
  for (const std::string& line : lines)
    section.blocks.push_back(Text{"  - ", line, 4});
  if (!lines.empty())
    section.title = std::move(title);
  return section;
}

Section reading_matrices(const std::vector<P2pMatrix>& matrices) {
  const bool chased = std::ranges::any_of(
      matrices, [](const P2pMatrix& matrix) { return matrix.method == model::P2pMethod::latency; });
  std::set<std::string> unchecked;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      if (entry.data == DataState::unchecked && !entry.data_note.empty())
        unchecked.insert(entry.data_note);
  Section section{.key = "reading", .part = Section::Part::method};
  section.blocks.push_back(Text{
      "",
      "Rows are sources, columns targets; numbers are ranks. A percentage is the share of the "
      "link's rate. !: above that rate. *: slower than others of its kind. Both ways: the sum." +
          std::string(chased ? " Latency: the row's GPU reads the column's memory." : ""),
      2});
  if (!unchecked.empty())
    section.blocks.push_back(
        Text{"Data was not checked: ",
             join(std::vector<std::string>(unchecked.begin(), unchecked.end()), "; "), 2});
  return section;
}

} // namespace

Report p2p_report(const RunSummary& run) {
  const auto found = std::make_shared<const std::vector<P2pMatrix>>(p2p_matrices(run));
  const std::vector<std::string> beyond = beyond_limits(*found);
  const std::vector<Outlier> slow_pairs = outliers(*found);
  Object about = described_with(static_cast<const model::RunHeader&>(run.header),
                                {{"finished_trials", run.trials.size()}});
  Report report{.sections = {heading_section(run), wrong_data_section(run), failure_section(run),
                             p2p_answer(run, *found, slow_pairs, beyond.size())},
                .data = {{"schema", "ncclprobe.p2p"},
                         {"schema_version", k_p2p_report_version},
                         {"synthetic", is_synthetic(run)},
                         {"imported", !run.header.imported.empty()},
                         {"run", std::move(about)},
                         {"matrices", matrices_table(run.header, *found)},
                         {"beyond_limits", beyond}},
                .rows = p2p_rows_table(run, *found),
                .figures = {found}};
  for (const P2pMatrix& matrix : *found)
    report.sections.push_back(matrix_section(run, matrix));
  report.sections.push_back(list_section(
      "beyond_limits",
      "Above the link's rate: these figures, or the known rates of the links, are wrong", beyond));
  std::vector<std::string> slow;
  for (const Outlier& one : slow_pairs)
    slow.push_back(one.text);
  report.sections.push_back(list_section("outliers", "Slower than others of their kind", slow));
  append(report, problem_report(run));
  report.sections.push_back(reading_matrices(*found));
  report.sections.push_back(wrong_data_section(run));
  return report;
}

} // namespace ncclprobe::analysis
