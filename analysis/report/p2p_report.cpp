// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/p2p_report.h"

#include "analysis/p2p/p2p_verdict.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/problems.h"
#include "base/text_table.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using workload::P2pDirection;
using workload::P2pEnd;
using workload::P2pTransfer;

constexpr double k_ns_shown_as_us = 10'000;

const std::optional<P2pFigure>& shown_figure(const P2pMatrix& matrix, const P2pEntry& entry) {
  return matrix.direction == P2pDirection::bi ? entry.both_ways : entry.figure;
}

bool is_between_devices(const P2pTransfer& transfer) {
  return transfer.from != transfer.to && !transfer.from.host && !transfer.to.host;
}

bool with_host(const P2pMatrix& matrix) {
  return matrix.method == workload::P2pMethod::host ||
         matrix.method == workload::P2pMethod::pageable;
}

class MatrixTable {
public:
  explicit MatrixTable(const P2pMatrix& matrix) : matrix_(matrix) {
    double largest = 0;
    for (const P2pEntry& entry : matrix.entries)
      if (const auto& figure = shown_figure(matrix, entry))
        largest = std::max(largest, figure->value);
    microseconds_ = matrix.latency() && largest >= k_ns_shown_as_us;
  }

  bool in_microseconds() const { return microseconds_; }

  std::string unit() const {
    return !matrix_.latency() ? "GB/s" : microseconds_ ? "us a hop" : "ns a hop";
  }

  std::string render() const {
    std::set<P2pEnd> rows;
    std::set<int> columns;
    bool host_column = false;
    for (const P2pEntry& entry : matrix_.entries) {
      rows.insert(entry.transfer.from);
      if (entry.transfer.to.host)
        host_column = true;
      else
        columns.insert(entry.transfer.to.rank);
    }
    if (with_host(matrix_))
      return render_with_host();
    std::vector<TextTable::Column> titles{{""}};
    if (matrix_.direction == P2pDirection::together) {
      for (const P2pEnd& row : rows)
        titles.push_back({to_string(row)});
      TextTable table(titles);
      std::vector<std::string> cells{"total"};
      for (const P2pEnd& row : rows)
        cells.push_back(text({row, row}));
      table.add_row(cells);
      return table.render(2);
    }
    for (int column : columns)
      titles.push_back({std::to_string(column)});
    if (host_column)
      titles.push_back({"host"});
    TextTable table(titles);
    for (const P2pEnd& row : rows) {
      std::vector<std::string> cells{to_string(row)};
      for (int column : columns)
        cells.push_back(text({row, {false, column}}));
      if (host_column)
        cells.push_back(text({row, {true, row.rank}}));
      table.add_row(cells);
    }
    return table.render(2);
  }

private:
  // Each GPU has its host only: rows for the ways, a column for each GPU.
  std::string render_with_host() const {
    std::set<int> ranks;
    std::set<bool> from_host;
    for (const P2pEntry& entry : matrix_.entries) {
      ranks.insert(entry.transfer.from.rank);
      from_host.insert(entry.transfer.from.host);
    }
    bool bi = matrix_.direction == P2pDirection::bi;
    std::vector<TextTable::Column> titles{{"", TextTable::Align::left}};
    for (int rank : ranks)
      titles.push_back({std::to_string(rank)});
    TextTable table(titles);
    for (bool host_first : {true, false}) {
      if (!from_host.contains(host_first) || (bi && !host_first))
        continue;
      std::vector<std::string> cells{bi           ? "host and GPU"
                                     : host_first ? "host to GPU"
                                                  : "GPU to host"};
      for (int rank : ranks)
        cells.push_back(text({{host_first, rank}, {!host_first, rank}}));
      table.add_row(cells);
    }
    return table.render(2);
  }

  std::string text(const P2pTransfer& transfer) const {
    const P2pEntry* entry = matrix_.at(transfer);
    if (!entry)
      return "-";
    if (entry->data == DataState::wrong)
      return "WRONG";
    const auto& figure = shown_figure(matrix_, *entry);
    if (!figure)
      return in_words(entry->outcome.kind);
    std::string shown = microseconds_          ? fmt::format("{:.1f}", figure->value / 1e3)
                        : matrix_.latency()    ? fmt::format("{:.0f}", figure->value)
                        : figure->value >= 100 ? fmt::format("{:.1f}", figure->value)
                                               : fmt::format("{:.2f}", figure->value);
    if (auto share = figure->share())
      shown += fmt::format(" {:.0f}%", 100 * *share);
    return shown + (figure->beyond_limit() ? "!" : "") + (figure->outlier ? "*" : "");
  }

  const P2pMatrix& matrix_;
  bool microseconds_ = false;
};

// "Each link carries 450 GB/s (18 NVLinks x 25 GB/s)", a line for each kind of link.
std::string render_limits(const P2pMatrix& matrix) {
  if (matrix.latency())
    return "";
  std::vector<std::string> lines;
  for (const P2pEntry& entry : matrix.entries) {
    const auto& figure = shown_figure(matrix, entry);
    if (!figure)
      continue;
    std::string line = figure->limit.gb_per_s
                           ? fmt::format("at most {:g} GB/s: {}", *figure->limit.gb_per_s,
                                         figure->limit.derivation)
                           : "at most: unknown, " + figure->limit.derivation;
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  std::string out;
  for (const std::string& line : lines)
    out += "  " + printable(line) + "\n";
  return out;
}

std::string render_spread(const P2pMatrix& matrix, bool microseconds) {
  std::vector<double> values;
  for (const P2pEntry& entry : matrix.entries)
    if (const auto& figure = shown_figure(matrix, entry);
        figure && (!matrix.latency() || is_between_devices(entry.transfer)))
      values.push_back(figure->value);
  if (values.size() < 2)
    return "";
  Summary summary = summarise(values);
  auto text = [&](double value) { return format_number(microseconds ? value / 1e3 : value); };
  return fmt::format("  lowest {}, median {}, highest {} {}\n", text(summary.min),
                     text(summary.median), text(summary.max),
                     microseconds       ? "us"
                     : matrix.latency() ? "ns"
                                        : "GB/s");
}

std::string render_verdict(const model::Run& run, const P2pMatrix& matrix) {
  auto judged = judge(run.header, matrix);
  if (!judged)
    return "";
  std::string out = paragraph("  ", printable(judged->text), 4);
  for (const std::string& cause : judged->verdict.causes)
    out += paragraph("    - ", printable(cause), 6);
  return out;
}

std::vector<std::string> outliers(const std::vector<P2pMatrix>& matrices) {
  std::vector<std::string> found;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      if (const auto& figure = shown_figure(matrix, entry);
          figure && figure->outlier && !is_mirrored(matrix, entry.transfer)) {
        double ratio = figure->value / figure->class_median;
        found.push_back(fmt::format("{}: {} {}, {} than the {} of others of its kind",
                                    describe(matrix, entry), format_number(figure->value),
                                    matrix.latency() ? "ns" : "GB/s",
                                    percent_above(matrix.latency() ? ratio : 1 / ratio) + " slower",
                                    format_number(figure->class_median)));
      }
  return found;
}

std::string render_findings(const std::vector<P2pMatrix>& matrices) {
  std::string out;
  auto section = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty())
      return;
    out += fmt::format("\n{}\n", title);
    for (const std::string& line : lines)
      out += paragraph("  - ", printable(line), 4);
  };
  section("Beyond what the link carries: these figures, or what is known of the links, are wrong",
          beyond_limits(matrices));
  section("Slower than others of their kind", outliers(matrices));
  return out;
}

std::string render_data(const std::vector<P2pMatrix>& matrices) {
  std::set<std::string> unchecked;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      if (entry.data == DataState::unchecked && !entry.data_note.empty())
        unchecked.insert(printable(entry.data_note));
  if (unchecked.empty())
    return "";
  return paragraph("Data was not checked: ",
                   join(std::vector<std::string>(unchecked.begin(), unchecked.end()), "; "), 2);
}

} // namespace

std::string render_p2p_table(const RunSummary& run) {
  const std::vector<P2pMatrix> matrices = p2p_matrices(run);
  std::string wrong = render_wrong_data(run);
  std::string out = render_heading(run);
  if (!wrong.empty())
    out += "\n" + wrong;
  for (const P2pMatrix& matrix : matrices) {
    MatrixTable table(matrix);
    out += fmt::format("\n{}, {}{}\n{}", describe(matrix), table.unit(), synthetic_mark(run),
                       table.render());
    out += render_limits(matrix) + render_spread(matrix, table.in_microseconds()) +
           render_verdict(run, matrix);
  }
  bool chased = std::any_of(matrices.begin(), matrices.end(), [](const P2pMatrix& matrix) {
    return matrix.method == workload::P2pMethod::latency;
  });
  out += render_findings(matrices);
  if (std::string problems = render_problems(run); !problems.empty())
    out += "\n" + problems;
  out += "\n" + paragraph("",
                          "Rows are from, columns to; numbers are ranks. A percentage is the share "
                          "of what the link carries, ! more than that, * "
                          "slower than others of its kind. Both ways: the sum." +
                              std::string(chased ? " Latency: the row's GPU reads the column's "
                                                   "memory."
                                                 : ""),
                          2);
  out += render_data(matrices);
  if (!wrong.empty())
    out += "\n" + wrong;
  return out;
}

} // namespace ncclprobe::analysis
