// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/p2p_tables.h"

#include "analysis/p2p/p2p_verdict.h"
#include "analysis/report/heading.h"

#include <functional>

namespace ncclprobe::analysis {
namespace {

using model::P2pDirection;

Value figure_value(const std::optional<P2pFigure>& figure, bool latency) {
  if (!figure)
    return nullptr;
  const std::string unit = latency ? "ns" : "gb_per_s";
  Object out{{unit, figure->value},
             {"lowest_" + unit, figure->lowest},
             {"highest_" + unit, figure->highest},
             {"batches", figure->batches}};
  if (!latency)
    out.insert(out.end(), {{"limit_gb_per_s", figure->limit.gb_per_s},
                           {"limit_derivation", figure->limit.derivation},
                           {"share_of_limit", figure->share()},
                           {"beyond_limit", figure->beyond_limit()}});
  out.emplace_back("link_class", figure->limit.link_class);
  out.emplace_back("outlier", figure->outlier);
  return out;
}

// An entry and its matrix.
struct EntryRow {
  const P2pMatrix* matrix;
  const P2pEntry* entry;

  const std::optional<P2pFigure>& any() const {
    return entry->figure ? entry->figure : entry->both_ways;
  }
  bool is_any(auto of_figure) const {
    auto is = [&](const auto& figure) { return figure && std::invoke(of_figure, *figure); };
    return is(entry->figure) || is(entry->both_ways);
  }
};

std::vector<EntryRow> entry_rows(const std::vector<P2pMatrix>& matrices) {
  std::vector<EntryRow> rows;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      rows.push_back({&matrix, &entry});
  return rows;
}

using Entry = const EntryRow&;

void add_ends(TableOf<EntryRow>& table) {
  table.add("from", [](Entry row) { return to_string(row.entry->transfer.from); });
  table.add("to", [](Entry row) { return to_string(row.entry->transfer.to); });
}

void add_outcome(TableOf<EntryRow>& table) {
  table.add("outcome", [](Entry row) { return row.entry->outcome.kind; });
  table.add("reason", [](Entry row) { return row.entry->outcome.reason; });
  table.add("data", [](Entry row) { return row.entry->data; });
  table.add("data_note", [](Entry row) { return row.entry->data_note; });
}

TablePtr entries_table(const P2pMatrix& matrix) {
  std::vector<EntryRow> rows;
  for (const P2pEntry& entry : matrix.entries)
    rows.push_back({&matrix, &entry});
  TableOf<EntryRow> table(std::move(rows));
  add_ends(table);
  table.add("one_way",
            [](Entry row) { return figure_value(row.entry->figure, row.matrix->latency()); });
  if (matrix.direction == P2pDirection::bi)
    table.add("both_ways",
              [](Entry row) { return figure_value(row.entry->both_ways, row.matrix->latency()); });
  add_outcome(table);
  return table.table();
}

Value normal_value(const model::RunHeader& header, const P2pMatrix& matrix) {
  auto judged = judge(header, matrix);
  if (!judged)
    return nullptr;
  return Object{{"verdict", judged->verdict.verdict},
                {"expected_gb_per_s", judged->verdict.expected_gb_per_s},
                {"estimate", judged->verdict.estimate},
                {"basis", judged->verdict.basis},
                {"source", judged->verdict.source},
                {"causes", judged->verdict.causes}};
}

} // namespace

TablePtr matrices_table(const model::RunHeader& header, const std::vector<P2pMatrix>& matrices) {
  std::vector<const P2pMatrix*> rows;
  for (const P2pMatrix& matrix : matrices)
    rows.push_back(&matrix);
  TableOf<const P2pMatrix*> table(std::move(rows));
  table.add("mode", &P2pMatrix::mode);
  table.add("method", &P2pMatrix::method);
  table.add("direction", &P2pMatrix::direction);
  table.add("size_bytes", &P2pMatrix::bytes);
  table.add("what", [](const P2pMatrix* matrix) { return describe(*matrix); });
  table.add("normal", [&header](const P2pMatrix* matrix) { return normal_value(header, *matrix); });
  table.add("cells", [](const P2pMatrix* matrix) { return entries_table(*matrix); });
  return table.table();
}

TablePtr p2p_rows_table(const RunSummary& run, const std::vector<P2pMatrix>& matrices) {
  TableOf<EntryRow> table(entry_rows(matrices));
  // Only bandwidths, or only latencies.
  auto add_figure = [&](const char* key, bool latency, double P2pFigure::*member) {
    table.add(key, [=](Entry row) {
      const auto& figure = row.entry->figure;
      return figure && row.matrix->latency() == latency ? Value(*figure.*member) : Value();
    });
  };
  table.add("synthetic", [synthetic = is_synthetic(run)](Entry) { return synthetic; });
  table.add("run_id", [&run](Entry) { return run.header.run_id; });
  table.add("backend", [&run](Entry) { return run.header.backend; });
  table.add("mode", [](Entry row) { return row.matrix->mode; });
  table.add("method", [](Entry row) { return row.matrix->method; });
  table.add("direction", [](Entry row) { return row.matrix->direction; });
  table.add("size_bytes", [](Entry row) { return row.matrix->bytes; });
  add_ends(table);
  add_figure("gb_per_s", false, &P2pFigure::value);
  add_figure("lowest_gb_per_s", false, &P2pFigure::lowest);
  add_figure("highest_gb_per_s", false, &P2pFigure::highest);
  table.add("both_ways_gb_per_s", [](Entry row) {
    return row.entry->both_ways ? Value(row.entry->both_ways->value) : Value();
  });
  add_figure("latency_ns", true, &P2pFigure::value);
  add_figure("lowest_ns", true, &P2pFigure::lowest);
  add_figure("highest_ns", true, &P2pFigure::highest);
  table.add("batches", [](Entry row) { return row.any() ? row.any()->batches : 0; });
  table.add("limit_gb_per_s",
            [](Entry row) { return row.any() ? Value(row.any()->limit.gb_per_s) : Value(); });
  table.add("share_of_limit",
            [](Entry row) { return row.any() ? Value(six_digits(row.any()->share())) : Value(); });
  table.add("beyond_limit", [](Entry row) { return row.is_any(&P2pFigure::beyond_limit); });
  table.add("outlier", [](Entry row) { return row.is_any(&P2pFigure::outlier); });
  table.add("link_class",
            [](Entry row) { return row.any() ? Value(row.any()->limit.link_class) : Value(); });
  add_outcome(table);
  table.add("imported", [imported = !run.header.imported.empty()](Entry) { return imported; });
  return table.table();
}

} // namespace ncclprobe::analysis
