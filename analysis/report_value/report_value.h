// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/row_getter.h"
#include "analysis/report_value/value.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// A report as data, complete before anything is printed. Sections say what to show, in order;
// `data` is for machines. Both show the same tables. The writers (report_writers.h) know nothing
// about the content: a writer that has to compute lacks a column.
namespace ncclprobe::analysis {

// How a table for people writes a value. The unit itself is in the column's title.
enum class Unit {
  plain,        // texts and counts
  size,         // bytes: "64K"
  number,       // two decimals; four below 0.01
  fixed,        // with this many decimals
  milliseconds, // five digits or fewer
  ratio,        // "1.05x", more decimals near 1; with 3 digits as an interval has
  chance,       // four decimals; "<0.0001"
  share,        // a part of 1, in percent, with this many decimals
  percent,      // the same as "30.6%"
  grouped,      // "12,000"
};
struct CellFormat {
  Unit unit = Unit::plain;
  int digits = 1;
};
// "-" for null; "low-high" for two values.
std::string shown(const Value& value, CellFormat format = {});

// Reads a column from its table's rows, which it keeps alive.
struct ColumnValue {
  std::shared_ptr<const void> rows;
  const std::byte* first = nullptr;
  std::size_t row_bytes = 0;
  RowGetter get;

  Value operator()(std::size_t row) const;
};

struct Column {
  std::string key;   // in JSON and CSV; empty: only for people
  std::string title; // for people; empty: only for machines
  CellFormat format;
  enum class Align { left, right } align = Align::right;
  // In a narrow window, columns with the highest number are dropped first; 0: never.
  int dispensable = 0;
  int width = 0;         // longer texts continue in lines below; 0: any
  bool if_any = false;   // not shown if no row has a value
  bool once = false;     // shown only when it changes; for the first columns
  bool nested = false;   // only in JSON: a field of CSV cannot hold it
  bool interval = false; // a list of two, which becomes two fields in CSV
  ColumnValue value;
};

struct Table {
  std::size_t rows = 0;
  std::vector<Column> columns;
};

// Sets how the column that was just added is shown.
class AddedColumn {
public:
  AddedColumn(Column& column) : column_(column) {}
  AddedColumn& titled(std::string title, CellFormat format = {});
  AddedColumn& left(int width = 0);
  AddedColumn& dispensable(int rank) { return column_.dispensable = rank, *this; }
  AddedColumn& if_any() { return column_.if_any = true, *this; }
  AddedColumn& once() { return column_.once = true, *this; }
  AddedColumn& nested() { return column_.nested = true, *this; }
  AddedColumn& interval() { return column_.interval = true, *this; }

private:
  Column& column_;
};

// The part of TableOf that does not depend on the type of the rows.
class TableBuilder {
public:
  TablePtr table() const { return table_; }

protected:
  TableBuilder(std::shared_ptr<const void> rows, const void* first, std::size_t row_bytes,
               std::size_t count);
  AddedColumn add_column(std::string key, const RowGetter& get);
  AddedColumn show_column(std::string title, const RowGetter& get, CellFormat format);

private:
  ColumnValue value_; // of all columns, but for the getter
  std::shared_ptr<Table> table_;
};

// Makes a table of rows of one type. A column takes a value from a row and computes nothing.
template <typename Row>
class TableOf : public TableBuilder {
public:
  explicit TableOf(std::vector<Row> rows)
      : TableOf(std::make_shared<const std::vector<Row>>(std::move(rows))) {}

  // Valid until the next column is added.
  AddedColumn add(std::string key, const GetterOf<Row>& get) {
    return add_column(std::move(key), get);
  }
  // For people only.
  AddedColumn show(std::string title, const GetterOf<Row>& get, CellFormat format = {}) {
    return show_column(std::move(title), get, format);
  }
  AddedColumn show_left(std::string title, const GetterOf<Row>& get, int width = 0) {
    return show(std::move(title), get).left(width);
  }
  // All fields of a row (base/fields.h), only for machines.
  void add_fields() {
    fields(base::Of<Row>{}, [&](const char* name, auto member, auto...) { add(name, member); });
  }

  // A column for each field of a member (base/fields.h).
  template <typename Part, typename Owner>
  void add_fields(Part Owner::*part) {
    fields(base::Of<Part>{}, [&](const char* name, auto field, auto...) {
      add(name, [=](const Row& row) { return row.*part.*field; });
    });
  }

  const std::vector<Row>& rows() const { return *rows_; }

private:
  explicit TableOf(std::shared_ptr<const std::vector<Row>> rows)
      : TableBuilder(rows, rows->data(), sizeof(Row), rows->size()), // NOLINT: may be a pointer
        rows_(std::move(rows)) {}

  std::shared_ptr<const std::vector<Row>> rows_;
};

// Text after a label in the margin: "Trials       25: all ok". Further lines start `hang` columns
// in. A text that is useless when split, such as an address, is `whole`: it stays on one line.
struct Text {
  std::string label;
  std::string text;
  int hang = 0;
  bool whole = false;
};

// The part of a table that people see.
struct View {
  TablePtr table;
  std::optional<std::vector<std::size_t>> rows = std::nullopt; // absent: all
  // Titles, or keys of columns without one, in this order; none: all columns with a title.
  std::vector<std::string> columns = {};
  int indent = 2;
  std::size_t most_rows = SIZE_MAX;
};

// A warning or conclusion of a report. Each report has a closed set of kinds with one sentence
// each, in which "{name}" and "{name:.2f}" stand for values.
enum class Severity { note, warning, error };
struct FindingKind {
  std::string_view id;
  Severity severity = Severity::note;
  std::string_view sentence;
};
struct Finding {
  const FindingKind* kind = nullptr;
  Object values = {};
};
// Its sentence. Every value in the sentence must exist (else fmt::format_error).
std::string in_words(const Finding& finding);
std::string in_words(std::string_view sentence, const Object& values);
std::string in_words(const std::vector<Finding>& findings);
// Where a page has more.
struct SectionLink {
  std::string section; // its key; empty: no link
  std::string text = {};
};
// Several findings in one paragraph, as a Text.
struct Findings {
  std::string label;
  std::vector<Finding> all;
  int hang = 0;
  SectionLink more = {};
};

// Lines to copy, unchanged.
struct Code {
  std::vector<std::string> lines;
  int indent = 2;
};

// A picture of a table, for writers that can draw. The members after the table name its columns by
// key; these have a title too. An empty name: the chart does without.
enum class ChartKind {
  curve,    // y over x, a line for each series
  forest,   // a row for each x, named by y, under its series
  heat_map, // the value of a pair: y is the row, x the column
  bars,     // a bar for each y, of lengths x that lie end to end, one for each series
  spans,    // a line for each y, with a bar from and to each interval, coloured by series
  boxes,    // boxes in boxes and lines between them (analysis/topology_chart)
};
struct ReferenceLine {
  std::string name;
  double at = 0; // in units of y; forest: of x
};
struct Chart {
  ChartKind kind = ChartKind::curve;
  std::string title;
  TablePtr table;
  std::string x = {};
  std::string y = {};
  std::string series = {};
  std::string interval = {}; // around the value: [low, high]
  std::string points = {};   // curve: a list, the values that y is the middle of
  std::string state = {};    // forest: a verdict; heat_map: what is wrong with a cell
  std::string band = {};     // forest: [low, high], differences that mean nothing
  std::string value = {};    // heat_map
  std::vector<ReferenceLine> lines = {};
};

// What happened when on many lanes: more events than a table can have rows. Times count from any
// moment that all lanes share.
struct EventSum { // of the events in a stretch of time
  std::int64_t begin_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<std::int64_t> busy_ns; // by kind
};
struct EventLane {
  std::string title;
  // Columns of equal length, in the order of the starts.
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> length_ns;
  std::vector<std::uint32_t> name; // index in EventChart::names
  // If not all events are here: sums of all, over stretches that follow each other.
  std::vector<EventSum> sums;
};
struct EventChart {
  std::string title;
  std::string note; // what it lacks; empty: nothing
  std::vector<std::string> kinds;
  std::vector<std::pair<std::string, std::size_t>> names; // with the index of their kind
  std::vector<EventLane> lanes;
};

using Block = std::variant<Text, View, Findings, Code>;
struct Section {
  // Where a writer with an order of its own shows it.
  enum class Part { answer, figures, failures, method, provenance };

  std::string key;
  std::string title = {}; // a line above the blocks; may be empty
  std::vector<Block> blocks = {};
  int hang = 0; // of the title's further lines
  Part part = Part::figures;
  std::vector<Chart> charts = {}; // of what the blocks say
  std::vector<EventChart> timelines = {};
  // Only for writers with an order of their own: what a text says elsewhere at its beginning.
  bool only_on_pages = false;

  void add(std::string label, std::string text, int hang_of_text) {
    blocks.push_back(Text{std::move(label), std::move(text), hang_of_text});
  }
  // One below the other, with the label before the first.
  void add_each(std::string label, const std::vector<std::string>& texts, int hang_of_text,
                bool whole = false) {
    for (const std::string& one : texts)
      blocks.push_back(Text{std::exchange(label, ""), one, hang_of_text, whole});
  }
};

struct Report {
  std::string title = {};             // of a page; empty: that of the first section with a title
  std::vector<Section> sections = {}; // separated by empty lines; empty ones are omitted
  Object data = {};                   // for JSON, which also gets the findings of all sections
  TablePtr rows = nullptr;            // for CSV
  // Keeps alive what the tables' rows point to.
  std::vector<std::shared_ptr<const void>> figures = {};
};
// Appends the sections and data of a part.
void append(Report& whole, Report part);
// In the order of the sections.
std::vector<const Finding*> findings(const Report& report);

} // namespace ncclprobe::analysis
